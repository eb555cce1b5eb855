#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.h"

namespace predgen {

constexpr int kRecogniserRate =
    16'000;  // Hz: what recognisers hear, and what a microphone is asked for
constexpr int kBlocksPerSecond = 50;  // of read()

/// Where the user's sound comes from: a microphone, a file, a pipe. Used by one thread.
class AudioSource {
 public:
  virtual ~AudioSource() = default;

  virtual int sample_rate() const = 0;  // Hz

  /// The next block, some 20 ms: mono, in [-1,1], valid until the next call. Waits until it was
  /// recorded, or would have been. Empty: end of the input. UserError if reading fails; Interrupted
  /// after a stop.
  virtual std::span<const float> read() = 0;
};

/// Paces samples that are already available as if they were spoken now: the first at the first
/// call.
class AudioPace {
 public:
  /// The clock is borrowed.
  AudioPace(int sample_rate, Clock& clock) : sample_rate_(sample_rate), clock_(clock) {}

  /// Returns when `num_samples` more samples would have been recorded.
  void wait_for(size_t num_samples) {
    if (num_samples_ == 0) begin_ = clock_.now();
    num_samples_ += static_cast<int64_t>(num_samples);
    clock_.sleep_until(begin_ + Seconds(static_cast<double>(num_samples_) / sample_rate_));
  }

 private:
  const int sample_rate_;
  Clock& clock_;
  int64_t num_samples_ = 0;
  Seconds begin_{0};
};

}  // namespace predgen
