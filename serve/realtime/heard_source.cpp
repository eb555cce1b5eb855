#include "serve/realtime/heard_source.h"

#include "core/stop.h"

namespace predgen::serve {

void HeardSource::push(const std::string& text, bool is_final) {
  const Lock lock(mutex_);
  const Transcript heard{
      .text = text, .revision = ++num_pushed_, .time = clock_.now(), .is_final = is_final};
  // Nobody asks for what came before, unless that ends a turn.
  if (!transcripts_.empty() && !transcripts_.back().is_final) transcripts_.pop_back();
  transcripts_.push_back(heard);
  arrived_.notify_all();
}

bool HeardSource::is_empty() const {
  const Lock lock(mutex_);
  return transcripts_.empty();
}

void HeardSource::drop_final() {
  const Lock lock(mutex_);
  if (!transcripts_.empty() && transcripts_.front().is_final) transcripts_.pop_front();
}

std::optional<Transcript> HeardSource::newest_locked() const {
  if (transcripts_.empty()) return std::nullopt;
  return transcripts_.front();
}

std::optional<Transcript> HeardSource::latest(Seconds) {
  const Lock lock(mutex_);
  return newest_locked();
}

std::optional<Transcript> HeardSource::wait_newer(int64_t revision, Clock&) {
  std::optional<Transcript> newest;
  const auto is_newer = [&]() REQUIRES(mutex_) {
    newest = newest_locked();
    return newest && newest->revision > revision;
  };
  {
    const Baton::Rest rest(baton_);
    Lock lock(mutex_);
    arrived_.wait(lock, stop_, is_newer);
  }
  const Lock lock(mutex_);
  // Whoever stops a turn and then sends a final one means it for the next turn.
  throw_if_stopped(stop_);
  is_newer();  // while it waited for the baton, more may have come
  if (newest->is_final) transcripts_.pop_front();
  return newest;
}

}  // namespace predgen::serve
