#pragma once

#include <string>
#include <string_view>

#include "hear/transcripts/transcript_reader.h"

namespace predgen {

/// What was heard of a turn, in segments: all but the last are final. Once they exceed
/// kMaxTurnBytes, which no receiver accepts, further segments are not kept.
class HeardTurn {
 public:
  /// Replaces the last segment with its current text.
  void revise(std::string_view segment);
  /// Finishes the last segment; the next one begins.
  void finish_segment();
  /// Whether any segment is finished.
  bool has_segments() const { return !finished_.empty(); }
  /// Whether a segment is under way.
  bool is_open() const { return !open_.empty(); }

  /// Adds a line with everything heard so far, if that is new.
  void tell(TranscriptLines& lines);
  /// Adds the turn's last line, if anything was said. The next turn begins.
  void end(TranscriptLines& lines);

 private:
  std::string finished_, open_;
  std::string told_;  // by the last line
};

}  // namespace predgen
