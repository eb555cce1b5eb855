#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace predgen {

/// Samples from one writing thread to one reading thread without locks: an audio callback must
/// never wait.
class SampleRing {
 public:
  explicit SampleRing(size_t capacity) : samples_(capacity) {}

  /// Writer. Takes what fits and returns how many samples that were.
  size_t push(std::span<const float> samples);
  /// Writer. Nothing pushed before is popped by a pop() that begins after this.
  void clear() { dropped_.store(written_.load(std::memory_order_relaxed)); }
  /// Either thread. Samples that pop() would still give.
  size_t size() const;
  /// Reader. Fills the front of `samples` and returns how many.
  size_t pop(std::span<float> samples);

 private:
  std::vector<float> samples_;
  // Counts since the start; the ring holds [max(read_, dropped_), written_). The writer reuses
  // places only up to read_, because a pop() under way may still copy dropped ones.
  std::atomic<uint64_t> written_ = 0, read_ = 0, dropped_ = 0;
};

}  // namespace predgen
