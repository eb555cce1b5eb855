#include "audio/sample_ring.h"

#include <algorithm>

namespace predgen {

size_t SampleRing::push(std::span<const float> samples) {
  const uint64_t written = written_.load(std::memory_order_relaxed);
  const uint64_t used = written - read_.load(std::memory_order_acquire);
  const size_t count = std::min(samples.size(), samples_.size() - static_cast<size_t>(used));
  for (size_t i = 0; i < count; ++i) samples_[(written + i) % samples_.size()] = samples[i];
  written_.store(written + count, std::memory_order_release);
  return count;
}

size_t SampleRing::size() const {
  const uint64_t read = std::max(read_.load(), dropped_.load());
  const uint64_t written = written_.load();
  return static_cast<size_t>(written - std::min(read, written));
}

size_t SampleRing::pop(std::span<float> samples) {
  const uint64_t read = std::max(read_.load(std::memory_order_relaxed), dropped_.load());
  const uint64_t available = written_.load(std::memory_order_acquire) - read;
  const size_t count = std::min<uint64_t>(samples.size(), available);
  for (size_t i = 0; i < count; ++i) samples[i] = samples_[(read + i) % samples_.size()];
  read_.store(read + count, std::memory_order_release);
  return count;
}

}  // namespace predgen
