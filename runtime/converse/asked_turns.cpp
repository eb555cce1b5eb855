#include "runtime/converse/asked_turns.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "hear/transcripts/transcript_lines.h"
#include "text/words.h"

namespace predgen {

void AskedTurns::push(Seconds now) {
  const Seconds ended = std::min(voice_ended_ > Seconds(0) ? voice_ended_ : words_known_, now);
  waiting_.push_back({.voice_ended = ended, .words_known = std::clamp(words_known_, ended, now)});
}

void AskedTurns::take(const Transcript& heard) {
  again_.clear();
  asked_ = heard.text;
  taken_ = waiting_.front();
  waiting_.pop_front();
  taken_.turn_ended = heard.time;
}

std::string AskedTurns::with_lines(const std::string& words) const {
  return joined(before_, "\n", words);
}

std::optional<Transcript> AskedTurns::whole(std::optional<Transcript> heard) const {
  if (!heard || again_.empty()) return heard;
  const std::string text = joined_words(again_, heard->text);
  if (text.size() <= kMaxTurnBytes) heard->text = text;
  return heard;
}

std::string AskedTurns::bare(const std::string& words) const {
  const size_t before = joined_words(again_, with_lines("x")).size() - 1;
  return before <= words.size() ? words.substr(before) : words;
}

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
