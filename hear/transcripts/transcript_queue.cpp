#include "hear/transcripts/transcript_queue.h"

#include <utility>

#include "core/stop.h"

namespace predgen {

bool TranscriptQueue::is_unfinished_locked() const {
  return !entries_.empty() && !entries_.back().is_break && !entries_.back().transcript.is_final;
}

void TranscriptQueue::forget_unfinished_locked() {
  if (is_unfinished_locked()) entries_.pop_back();
}

void TranscriptQueue::tell_locked() {
  ++num_changes_;
  changed_.notify_all();
}

void TranscriptQueue::push_locked(Transcript transcript) {
  forget_unfinished_locked();
  transcript.revision = ++num_pushed_;
  entries_.push_back({.transcript = std::move(transcript)});
  tell_locked();
}

void TranscriptQueue::arrive_locked() {
  if (!later_ || later_->time > clock_.now()) return;
  Later arrived = *std::exchange(later_, std::nullopt);
  push_locked({.text = std::move(arrived.text), .time = arrived.time, .is_stable = true});
}

void TranscriptQueue::push_now(Transcript transcript) {
  const Lock lock(mutex_);
  if (has_ended_) return;
  later_.reset();
  transcript.time = clock_.now();
  push_locked(std::move(transcript));
}

void TranscriptQueue::push(std::string text, bool is_final) {
  push_now({.text = std::move(text), .is_final = is_final});
}

void TranscriptQueue::push_stable(std::string text) {
  push_now({.text = std::move(text), .is_stable = true});
}

void TranscriptQueue::push_at(Seconds time, std::string text) {
  const Lock lock(mutex_);
  if (has_ended_) return;
  later_ = {time, std::move(text)};
  tell_locked();
}

std::string TranscriptQueue::settle() {
  const Lock lock(mutex_);
  arrive_locked();
  later_.reset();
  return is_unfinished_locked() ? entries_.back().transcript.text : "";
}

void TranscriptQueue::push_break() {
  const Lock lock(mutex_);
  if (has_ended_) return;
  later_.reset();
  forget_unfinished_locked();
  entries_.push_back({.is_break = true});
  tell_locked();
}

void TranscriptQueue::end(std::exception_ptr failure) {
  const Lock lock(mutex_);
  if (has_ended_) return;
  later_.reset();
  has_ended_ = true;
  failure_ = std::move(failure);
  tell_locked();
}

void TranscriptQueue::forget_unfinished() {
  const Lock lock(mutex_);
  later_.reset();
  forget_unfinished_locked();
  tell_locked();
}

void TranscriptQueue::wait_for_room(size_t most, const std::stop_token& stop) {
  Lock lock(mutex_);
  changed_.wait(lock, stop, [&]() REQUIRES(mutex_) { return entries_.size() < most; });
}

std::optional<Transcript> TranscriptQueue::latest(Seconds now) {
  const Lock lock(mutex_);
  arrive_locked();
  if (entries_.empty() || entries_.front().is_break) return std::nullopt;
  const Transcript& newest = entries_.front().transcript;
  return newest.time <= now ? std::optional(newest) : std::nullopt;
}

bool TranscriptQueue::has_news_locked(int64_t revision) const {
  if (entries_.empty()) return has_ended_;
  const Entry& front = entries_.front();
  return front.is_break || front.transcript.revision > revision || has_ended_;
}

void TranscriptQueue::wait_locked(Lock& lock, int64_t revision, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    arrive_locked();
    if (has_news_locked(revision)) return;
    const auto is_changed = [this, num_seen = num_changes_]()
                                REQUIRES(mutex_) { return num_changes_ != num_seen; };
    if (later_) {
      changed_.wait_for(lock, stop, later_->time - clock_.now(), is_changed);
    } else {
      changed_.wait(lock, stop, is_changed);
    }
  }
}

void TranscriptQueue::wait(int64_t revision, const std::stop_token& stop) {
  Lock lock(mutex_);
  wait_locked(lock, revision, stop);
}

std::optional<Transcript> TranscriptQueue::take(int64_t revision, const std::stop_token& stop) {
  Lock lock(mutex_);
  wait_locked(lock, revision, stop);
  throw_if_stopped(stop);
  const bool is_break = !entries_.empty() && entries_.front().is_break;
  const bool is_old =
      !is_break && (entries_.empty() || entries_.front().transcript.revision <= revision);
  if (is_old) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  const Entry front = entries_.front();
  if (is_break || front.transcript.is_final) {
    entries_.pop_front();
    tell_locked();  // there is room
  }
  return is_break ? std::nullopt : std::optional(front.transcript);
}

bool TranscriptQueue::drop_final() {
  const Lock lock(mutex_);
  if (entries_.empty() || !entries_.front().transcript.is_final) return false;
  entries_.pop_front();
  tell_locked();
  return true;
}

size_t TranscriptQueue::size() const {
  const Lock lock(mutex_);
  return entries_.size();
}

}  // namespace predgen
