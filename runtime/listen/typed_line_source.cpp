#include "runtime/listen/typed_line_source.h"

#include <utility>

#include "core/stop.h"
#include "core/text.h"
#include "runtime/listen/word_alone.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr Seconds kPause{0.2};  // without a key; then the last word counts, too

// Where the unfinished word that ends at byte `end` begins; `end` if there is none.
size_t unfinished_word(std::string_view line, size_t end) {
  if (end > 0 && std::string_view(".?!").find(line[end - 1]) != std::string_view::npos) return end;
  size_t begin = end;
  while (begin > 0) {
    const size_t before = last_character(line.substr(0, begin));
    size_t at = before;
    const char32_t c = next_character(line, at);
    if (is_white_space(c) || is_word_alone(c)) break;
    begin = before;
  }
  return begin;
}

}  // namespace

TypedLineSource::TypedLineSource(const Clock& clock, std::stop_token stop)
    : clock_(clock), stop_(std::move(stop)) {}

void TypedLineSource::edit(std::string_view line, size_t cursor) {
  const size_t complete = unfinished_word(line, line.size());
  const bool inside = cursor < complete && unfinished_word(line, cursor) < cursor;
  const std::string_view text = trimmed(line.substr(0, complete)), whole = trimmed(line);
  const Lock lock(mutex_);
  if (closed_) return;
  const Seconds now = clock_.now();
  take_pause_locked(now);
  pause_.reset();
  // A word that counted because of a pause may go on: that takes nothing back.
  const bool goes_on = heard_.starts_with(text) && whole.starts_with(heard_);
  if (!inside && !goes_on) push_locked(text, false);
  if (whole != heard_) pause_ = Pause{.text = std::string(whole), .end = now + kPause};
  tell_locked();
}

void TypedLineSource::commit(std::string_view line) {
  const Lock lock(mutex_);
  if (closed_) return;
  pause_.reset();
  push_locked(trimmed(line), true);
  tell_locked();
}

void TypedLineSource::break_turn() {
  const Lock lock(mutex_);
  forget_unsent_locked();
  events_.push_back({.is_break = true});
  tell_locked();
}

void TypedLineSource::close() {
  const Lock lock(mutex_);
  forget_unsent_locked();
  closed_ = true;
  tell_locked();
}

void TypedLineSource::push_locked(std::string_view text, bool is_final) {
  events_.push_back({.transcript = {.text = std::string(text),
                                    .revision = ++num_transcripts_,
                                    .time = clock_.now(),
                                    .is_final = is_final}});
  heard_ = is_final ? std::string_view() : text;
}

void TypedLineSource::take_pause_locked(Seconds now) {
  if (!pause_ || pause_->end > now) return;
  push_locked(pause_->text, false);
  events_.back().transcript.time = pause_->end;
  pause_.reset();
}

void TypedLineSource::tell_locked() {
  ++num_changes_;
  arrived_.notify_all();
}

void TypedLineSource::forget_unsent_locked() {
  while (!events_.empty() && !events_.back().is_break && !events_.back().transcript.is_final) {
    events_.pop_back();
  }
  pause_.reset();
  heard_.clear();
}

std::optional<Transcript> TypedLineSource::newest_locked(Seconds now) const {
  std::optional<Transcript> newest;
  for (const Event& event : events_) {
    if (event.is_break || event.transcript.time > now) break;
    newest = event.transcript;
    if (newest->is_final) break;
  }
  return newest;
}

std::optional<Transcript> TypedLineSource::latest(Seconds now) {
  throw_if_stopped(stop_);
  const Lock lock(mutex_);
  take_pause_locked(now);
  return newest_locked(now);
}

std::optional<Transcript> TypedLineSource::wait_newer(int64_t revision, Clock& clock) {
  Lock lock(mutex_);
  while (true) {
    throw_if_stopped(stop_);
    const Seconds now = clock.now();
    take_pause_locked(now);
    std::optional<Transcript> newest = newest_locked(now);
    if (newest && newest->revision > revision) {
      // What is older was overtaken; the newest stays for latest(), unless it ends the turn.
      while (!events_.empty() && events_.front().transcript.revision < newest->revision) {
        events_.pop_front();
      }
      if (newest->is_final) events_.pop_front();
      return newest;
    }
    if (!events_.empty() && events_.front().is_break) {
      events_.pop_front();
      return std::nullopt;
    }
    if (closed_ && events_.empty()) return std::nullopt;
    const int64_t num_seen = num_changes_;
    const auto is_news = [&]() REQUIRES(mutex_) { return num_changes_ != num_seen; };
    if (pause_) {
      arrived_.wait_for(lock, stop_, pause_->end - now, is_news);
    } else {
      arrived_.wait(lock, stop_, is_news);
    }
  }
}

}  // namespace predgen
