#include "serve/realtime/session_inbox.h"

#include <utility>

namespace predgen::serve {

void SessionInbox::hear(const std::string& words) {
  const Lock lock(mutex_);
  queue_.push(words, /*is_final=*/false);
  changed_.notify_all();
}

void SessionInbox::pause(const std::string& words) {
  const Lock lock(mutex_);
  queue_.push_stable(words);
  changed_.notify_all();
}

void SessionInbox::ask(const std::string& text) {
  const Lock lock(mutex_);
  queue_.push(text, /*is_final=*/true);
  is_blocked_ = false;
  changed_.notify_all();
}

void SessionInbox::change(bool stops_turn) {
  const Lock lock(mutex_);
  has_changed_ = true;
  if (stops_turn) turn_stop_.request_stop();
  changed_.notify_all();
}

void SessionInbox::renew_history() {
  const Lock lock(mutex_);
  has_new_history_ = true;
}

void SessionInbox::set_voice(std::unique_ptr<SpeechSynthesizer> voice) {
  const Lock lock(mutex_);
  voice_ = std::move(voice);
}

void SessionInbox::return_voice(std::unique_ptr<SpeechSynthesizer> voice) {
  const Lock lock(mutex_);
  if (!voice_) voice_ = std::move(voice);
}

void SessionInbox::stop_turn() {
  const Lock lock(mutex_);
  turn_stop_.request_stop();
}

void SessionInbox::block() {
  const Lock lock(mutex_);
  is_blocked_ = true;
}

bool SessionInbox::wait(const std::stop_token& stop) {
  const Baton::Rest rest(baton_);
  Lock lock(mutex_);
  changed_.wait(lock, stop,
                [&]() REQUIRES(mutex_) { return has_changed_ || (!is_blocked_ && !is_empty()); });
  return !stop.stop_requested();
}

std::optional<Transcript> SessionInbox::wait_newer(int64_t revision, Clock&) {
  std::stop_token stop;
  {
    const Lock lock(mutex_);
    stop = turn_stop_.get_token();
  }
  {
    const Baton::Rest rest(baton_);
    queue_.wait(revision, stop);
  }
  // More may have come while this waited for the baton. A final transcript sent after a stop is
  // meant for the next turn: take() checks for the stop first.
  return queue_.take(revision, stop);
}

SessionInbox::Mail SessionInbox::begin_turn(bool is_stopped) {
  const Lock lock(mutex_);
  if (!is_stopped) turn_stop_ = {};
  has_changed_ = is_blocked_ = false;
  return {.stop = turn_stop_.get_token(),
          .voice = std::move(voice_),
          .has_new_history = std::exchange(has_new_history_, false)};
}

}  // namespace predgen::serve
