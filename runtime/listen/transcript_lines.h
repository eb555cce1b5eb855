#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/listen/transcript_source.h"
#include "text/transcripts/transcript_line.h"

namespace predgen {

class TranscriptMessages;

/// What one line of input says: an object as TranscriptLine has it, or a message of a speech
/// service as it comes. Those of a service are one connection's, in their order. UserError begins
/// with `where`, for a text longer than kMaxTurnBytes, too.
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
