#include "hear/user_turns.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/text.h"
#include "hear/transcripts/transcript_lines.h"
#include "text/word_spacing.h"

namespace predgen {
namespace {

constexpr float kDucked = 0.25f;  // -12 dB

float gain_of(Loudness loudness) {
  if (loudness == Loudness::kFull) return 1;
  return loudness == Loudness::kDucked ? kDucked : 0;
}

}  // namespace

UserTurns::UserTurns(const TurnTakingRules& rules, AudioSink* answers, Clock& clock,
                     const std::stop_token& stop)
    : answers_(answers),
      clock_(clock),
      stop_(stop),
      queue_(clock),
      taking_(rules),
      on_stop_(stop, [this] {
        const Lock lock(mutex_);
        turn_.request_stop();
      }) {}

std::stop_token UserTurns::begin_turn() {
  const Lock lock(mutex_);
  act(taking_.on_silent(), "");
  turn_ = {};
  if (stop_.stop_requested()) turn_.request_stop();
  return turn_.get_token();
}

void UserTurns::note_draft() {
  const Lock lock(mutex_);
  taking_.on_draft();
}

void UserTurns::say_again() {
  const Lock lock(mutex_);
  again_ = asked_;
  tick_locked();
}

SpokenTimes UserTurns::times() const {
  const Lock lock(mutex_);
  return taken_;
}

std::optional<Transcript> UserTurns::whole(std::optional<Transcript> heard) const {
  if (!heard || again_.empty()) return heard;
  const std::string text = joined_words(again_, heard->text);
  if (text.size() <= kMaxTurnBytes) heard->text = text;
  return heard;
}

std::optional<Transcript> UserTurns::latest(Seconds now) {
  const Lock lock(mutex_);
  return whole(queue_.latest(now));
}

std::optional<Transcript> UserTurns::wait_newer(int64_t revision, Clock&) {
  std::optional<Transcript> newest = queue_.take(revision, stop_);
  const Lock lock(mutex_);
  newest = whole(std::move(newest));
  if (!newest || !newest->is_final) return newest;
  again_.clear();
  asked_ = newest->text;
  taken_ = untaken_.front();
  untaken_.pop_front();
  taken_.turn_ended = newest->time;
  if (answers_ != nullptr) num_played_ = answers_->num_played();
  act(taking_.on_taken(clock_.now()), "");
  return newest;
}

void UserTurns::act(const TurnActions& actions, const std::string& words) {
  if (actions.sound && answers_ != nullptr) answers_->set_gain(gain_of(*actions.sound));
  if (actions.forgets) queue_.forget_unfinished();
  if (actions.leaves) turn_.request_stop();
  if (!actions.commits || has_ended_) return;
  const Seconds now = clock_.now();
  const Seconds ended = std::min(voice_ended_ > Seconds(0) ? voice_ended_ : words_known_, now);
  untaken_.push_back({.voice_ended = ended, .words_known = std::clamp(words_known_, ended, now)});
  queue_.push(words, /*is_final=*/true);
}

void UserTurns::on_words(const std::string& words) {
  const Lock lock(mutex_);
  is_speaking_ = true;
  words_known_ = clock_.now();
  act(taking_.on_words(words_known_, words), "");
  queue_.push(words, /*is_final=*/false);
}

void UserTurns::on_turn(const RecognisedTurn& turn) {
  const Lock lock(mutex_);
  end_turn(turn.text);
}

void UserTurns::on_lost(const SoundError& why) {
  const Lock lock(mutex_);
  ++num_lost_;
  if (std::exchange(lost_, why.what()) != why.what()) spdlog::warn("{}", why.what());
  end_turn("");
}

void UserTurns::end_turn(const std::string& words) {
  is_speaking_ = false;
  TurnActions actions = taking_.on_end(clock_.now(), words);
  // A turn that was not taken yet has it in front already.
  const bool is_owed =
      actions.forgets && !again_.empty() && untaken_.empty() && !taking_.is_answering();
  if (is_owed) actions = taking_.on_end(clock_.now(), again_);
  act(actions, is_owed ? "" : words);
}

void UserTurns::on_voice(bool is_active, Seconds ended) {
  const Lock lock(mutex_);
  is_speaking_ = is_speaking_ || is_active;
  if (!is_active) voice_ended_ = ended;
  act(taking_.on_voice(clock_.now(), is_active), "");
}

void UserTurns::on_pause(const std::string& words) { queue_.push_stable(words); }

void UserTurns::look_at_sound() {
  if (answers_ == nullptr || taking_.state() != TurnTaking::State::kCommitted) return;
  if (taking_.is_answering() && answers_->num_played() > num_played_) {
    act(taking_.on_sound(clock_.now()), "");
  }
}

void UserTurns::tick() {
  const Lock lock(mutex_);
  tick_locked();
}

void UserTurns::tick_locked() {
  look_at_sound();
  act(taking_.tick(clock_.now()), "");
  if (!again_.empty() && taking_.state() == TurnTaking::State::kIdle) end_turn("");
}

void UserTurns::end(std::exception_ptr failure) {
  {
    const Lock lock(mutex_);
    const std::string last = queue_.settle();
    if (!is_blank(last)) end_turn(last);
    has_ended_ = true;
  }
  queue_.end(std::move(failure));
}

bool UserTurns::is_speaking() const {
  const Lock lock(mutex_);
  return is_speaking_;
}

int64_t UserTurns::num_lost() const {
  const Lock lock(mutex_);
  return num_lost_;
}

std::string UserTurns::without_again(const std::string& words) const {
  const Lock lock(mutex_);
  const size_t before = again_.empty() ? 0 : joined_words(again_, "x").size() - 1;
  return before <= words.size() ? words.substr(before) : words;
}

bool UserTurns::is_over() const {
  const Lock lock(mutex_);
  return !is_speaking_ && (taking_.is_answering() || !untaken_.empty());
}

bool UserTurns::is_answering() const {
  const Lock lock(mutex_);
  return taking_.is_answering();
}

TurnTaking::State UserTurns::state() const {
  const Lock lock(mutex_);
  return taking_.state();
}

size_t UserTurns::size() const {
  const Lock lock(mutex_);
  return queue_.size() + untaken_.size();
}

}  // namespace predgen
