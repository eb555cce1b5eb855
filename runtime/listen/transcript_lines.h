#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/listen/transcript_source.h"

namespace predgen {

class TranscriptMessages;

/// What a turn may have of text, in bytes: an hour of speech. More is no turn that anybody answers.
constexpr size_t kMaxTurnBytes = 64 << 10;

/// One line {"text", "time", "revision", "final", "end_of_turn"}; all but text may be missing.
struct TranscriptLine {
  std::string text;
  std::optional<double> time{};       // seconds
  std::optional<int64_t> revision{};  // of the recogniser
  bool is_final = false;              // "end_of_turn" if it is there, otherwise "final"
};

/// What one line of input says: such an object, or a message of a speech service as it comes. Those
/// of a service are one connection's, in their order. UserError begins with `where`, for a text
/// longer than kMaxTurnBytes, too.
std::vector<TranscriptLine> parse_transcript_line(const std::string& line, const std::string& where,
                                                  TranscriptMessages& messages);

/// A transcript that comes too late: its revision is not above one that came before in the same
/// turn.
class RevisionFilter {
 public:
  bool is_stale(const TranscriptLine& line);

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t newest_ = kNone;
};

/// Transcripts of a file of such lines, for a ScheduledSource; a line without time arrives with the
/// one in front of it. UserError names the line.
std::vector<Transcript> read_transcript_file(const std::filesystem::path& file);

}  // namespace predgen
