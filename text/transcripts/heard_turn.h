#pragma once

#include <string>
#include <string_view>

#include "text/transcripts/transcript_reader.h"

namespace predgen {

/// What was heard of a turn, in segments: all but the last of them will not change any more. Once
/// they have more than kMaxTurnBytes, which nobody takes, those that follow are not kept.
class HeardTurn {
 public:
  /// What the last segment is by now.
  void revise(std::string_view segment);
  /// The next one begins.
  void finish_segment();
  /// Whether segments are finished.
  bool has_segments() const { return !finished_.empty(); }
  /// Whether a segment is under way.
  bool is_open() const { return !open_.empty(); }

  /// Adds a line with everything that was heard, if that is news.
  void tell(TranscriptLines& lines);
  /// Adds the turn's last line, if anything was said. The next turn begins.
  void end(TranscriptLines& lines);

 private:
  std::string finished_, open_;
  std::string told_;  // by the last line
};

}  // namespace predgen
