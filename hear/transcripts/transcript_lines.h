#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// The most text of a turn, in bytes: an hour of speech. A longer turn would not be answered.
constexpr size_t kMaxTurnBytes = 64 << 10;

/// One line {"text", "time", "revision", "final", "end_of_turn"}; all but text may be missing.
struct TranscriptLine {
  std::string text;
  std::optional<double> time{};       // seconds
  std::optional<int64_t> revision{};  // of the recogniser
  bool is_final = false;              // "end_of_turn" if it is there, otherwise "final"
};

class TranscriptMessages;

/// Parses one line of input: an object as TranscriptLine has it, or a raw message of a speech
/// service. A service's messages come from one connection, in order. UserError, also for a text
/// longer than kMaxTurnBytes, begins with `where`.
std::vector<TranscriptLine> parse_transcript_line(const std::string& line, const std::string& where,
                                                  TranscriptMessages& messages);

/// Finds transcripts that come too late: the revision is not above an earlier one in the same
/// turn.
class RevisionFilter {
 public:
  bool is_stale(const TranscriptLine& line);

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t newest_ = kNone;
};

/// Transcripts of a file of such lines, for a ScheduledSource; a line without time arrives with the
/// one before it. UserError names the line.
std::vector<Transcript> read_transcript_file(const std::filesystem::path& file);

}  // namespace predgen
