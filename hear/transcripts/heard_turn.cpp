#include "hear/transcripts/heard_turn.h"

#include "core/text.h"
#include "text/word_spacing.h"

namespace predgen {

void HeardTurn::revise(std::string_view segment) { open_ = trimmed(segment); }

void HeardTurn::finish_segment() {
  if (finished_.size() <= kMaxTurnBytes) finished_ = joined_words(finished_, open_);
  open_.clear();
}

void HeardTurn::tell(TranscriptLines& lines) {
  const std::string text = joined_words(finished_, open_);
  if (text == told_) return;
  told_ = text;
  lines.push_back({.text = text});
}

void HeardTurn::end(TranscriptLines& lines) {
  finish_segment();
  if (finished_.empty()) {
    tell(lines);  // what was reported was no speech
  } else {
    lines.push_back({.text = finished_, .is_final = true});
  }
  *this = {};
}

}  // namespace predgen
