#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// What a person typing `text` at a steady rate has sent, and when: character n comes 60 n /
/// rate seconds after `start`. A word is withheld until white space follows it; the whole text
/// is final, with its last character. For a ScheduledSource. UserError if the rate is not
/// positive.
std::vector<Transcript> type_text(const std::string& text, double characters_per_minute,
                                  Seconds start = Seconds(0));

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

/// Transcripts whose times are known beforehand: typed prompts, recordings, files. Reads by the
/// clock and shows nothing before its time. Input that ends without a final one becomes final.
class ScheduledSource : public TranscriptSource {
 public:
  /// Times must not decrease (UserError). Revisions are numbered here: 1, 2, ..
  explicit ScheduledSource(std::vector<Transcript> transcripts);

  std::optional<Transcript> latest(Seconds now) override;
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;
  bool expects_words(Seconds /*now*/) override { return false; }

 private:
  std::vector<Transcript> transcripts_;
  size_t turn_begin_ = 0;  // after the last final one that was returned
};

}  // namespace predgen
