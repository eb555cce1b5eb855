#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/listen/transcript_source.h"

namespace predgen {

/// One spoken prompt as a streaming recogniser heard it.
struct Recording {
  std::string id;                       // the written prompt
  std::vector<Transcript> transcripts;  // the last one is final; times from the first's, seconds
};

struct Recordings {
  std::vector<Recording> recordings;
  std::vector<std::string> empty;  // ids of logs without a single transcript: skipped
};

/// Reads a JSON object: id -> list of [whole text so far, seconds]. White space around a text is
/// dropped. UserError names the id and the entry that is wrong.
Recordings read_recordings(const std::filesystem::path& file);

/// `transcripts` with their times counted from `start`.
std::vector<Transcript> shifted(std::vector<Transcript> transcripts, Seconds start);

}  // namespace predgen
