#include "runtime/converse/first_words.h"

#include <utility>

#include "core/text.h"

namespace predgen {

void FirstWords::begin(int64_t number, int64_t milliseconds) {
  speech_ = {.turn = number, .milliseconds = milliseconds};
}

std::optional<SpeechBegun> FirstWords::hear(const std::string& words, Seconds now) {
  std::optional<SpeechBegun> begun;
  if (speech_) {
    const bool is_answering = now < answering_until_;
    if (is_answering && !taking_.is_answering()) taking_.on_taken(now);
    if (!is_answering) taking_.on_silent();
    taking_.on_words(now, words);
    if (!taking_.is_answering()) {
      begun = std::exchange(speech_, std::nullopt);
      told_ = begun;
      told_->is_again = true;
    }
  }
  if (is_blank(words) && told_) speech_ = told_;
  return begun;
}

void FirstWords::forget(Seconds now) {
  speech_.reset();
  told_.reset();
  taking_.on_lost(now);
}

}  // namespace predgen
