#include "hear/ears_streams.h"

namespace predgen {

void EarsStreams::add(EarsListener& listener) {
  const Lock lock(mutex_);
  listeners_.insert(&listener);
}

std::vector<uint32_t> EarsStreams::remove(EarsListener& listener) {
  const Lock telling(telling_);
  const Lock lock(mutex_);
  listeners_.erase(&listener);
  std::vector<uint32_t> streams;
  std::erase_if(streams_, [&](const auto& entry) {
    if (entry.second.listener != &listener) return false;
    streams.push_back(entry.first);
    return true;
  });
  return streams;
}

uint32_t EarsStreams::open(EarsListener& listener) {
  const Lock lock(mutex_);
  streams_.emplace(++newest_, Stream{.listener = &listener});
  return newest_;
}

void EarsStreams::close(uint32_t stream) {
  const Lock lock(mutex_);
  streams_.erase(stream);
}

bool EarsStreams::is_open(uint32_t stream) {
  const Lock lock(mutex_);
  return streams_.contains(stream);
}

bool EarsStreams::is_empty() {
  const Lock lock(mutex_);
  return streams_.empty();
}

bool EarsStreams::add_waiting(uint32_t stream, size_t num_samples, size_t most) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return true;
  if (found->second.num_waiting + num_samples > most) return false;
  found->second.num_waiting += num_samples;
  return true;
}

void EarsStreams::remove_waiting(uint32_t stream, size_t num_samples) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.num_waiting -= num_samples;
}

EarsListener* EarsStreams::listener_of(uint32_t stream) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.listener;
}

void EarsStreams::tell_heard(uint32_t stream, const RecognisedSegment& segment) {
  const Lock telling(telling_);
  if (EarsListener* const listener = listener_of(stream)) listener->on_heard(stream, segment);
}

void EarsStreams::tell_done(uint32_t stream) {
  const Lock telling(telling_);
  EarsListener* const listener = listener_of(stream);
  close(stream);
  if (listener != nullptr) listener->on_done(stream);
}

std::set<EarsListener*> EarsStreams::listeners() {
  const Lock lock(mutex_);
  return listeners_;
}

void EarsStreams::tell_lost(const std::string& why, bool is_starting) {
  const Lock telling(telling_);
  uint32_t last = 0;
  {
    const Lock lock(mutex_);
    streams_.clear();
    last = newest_;
  }
  for (EarsListener* const listener : listeners()) listener->on_lost(why, is_starting, last);
}

void EarsStreams::tell_started() {
  const Lock telling(telling_);
  for (EarsListener* const listener : listeners()) listener->on_started();
}

}  // namespace predgen
