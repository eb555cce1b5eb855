#include "runtime/listen/transcripts/heard_turn.h"

#include "core/text.h"
#include "runtime/listen/word_alone.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// With a space between them, where the language has any.
std::string joined_words(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return one + other;
  size_t last = last_character(one), first = 0;
  const bool is_one_word =
      is_word_alone(next_character(one, last)) && is_word_alone(next_character(other, first));
  return one + (is_one_word ? "" : " ") + other;
}

}  // namespace

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
    tell(lines);  // what was told was no speech
  } else {
    lines.push_back({.text = finished_, .is_final = true});
  }
  *this = {};
}

}  // namespace predgen
