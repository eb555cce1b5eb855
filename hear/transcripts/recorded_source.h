#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// What is known about the sound of a turn.
struct RecordedVoice {
  std::string said;         // word for word; the recogniser may have heard others
  Seconds ended{0};         // its last sample, on the transcripts' time scale
  bool is_cut_off = false;  // the turn was taken to be over before the voice ended
};

/// One spoken prompt as a streaming recogniser heard it.
struct Recording {
  std::string id;                        // the written prompt
  std::vector<Transcript> transcripts;   // the last one is final; times from the first's, seconds
  std::optional<RecordedVoice> voice{};  // nullopt: the file does not say
};

struct Recordings {
  std::vector<Recording> recordings;
  std::vector<std::string> empty;  // ids of logs without a single transcript: skipped
};

/// Reads a JSON object: id -> list of [whole text so far, seconds], or id -> {"transcripts": that
/// list, "said": text, "voice_ended": seconds, "cut_off": boolean}. White space around a text is
/// dropped. UserError names the id and the entry that is wrong.
Recordings read_recordings(const std::filesystem::path& file);

/// `transcripts` with their times counted from `start`.
std::vector<Transcript> shifted(std::vector<Transcript> transcripts, Seconds start);

}  // namespace predgen
