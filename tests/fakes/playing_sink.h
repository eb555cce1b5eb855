#pragma once

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/clock.h"
#include "tests/fakes/buffer_sink.h"

namespace predgen {

/// A loudspeaker that plays by the clock, without gaps while it has samples. samples(): all that
/// were written, those that clear() has dropped included.
class PlayingSink : public BufferSink {
 public:
  /// `sample_rate`: Hz. Borrows the clock.
  PlayingSink(const Clock& clock, int sample_rate) : clock_(clock), sample_rate_(sample_rate) {}

  void write(std::span<const float> samples) override {
    {
      const std::lock_guard lock(mutex_);
      play();
      num_queued_ += std::ssize(samples);
    }
    BufferSink::write(samples);
  }
  void clear() override {
    const std::lock_guard lock(mutex_);
    play();
    num_queued_ = 0;
  }
  int64_t num_played() const override {
    const std::lock_guard lock(mutex_);
    play();
    return num_played_;
  }
  void set_gain(float gain) override {
    const std::lock_guard lock(mutex_);
    play();
    gain_ = gain;
  }
  float gain() const {
    const std::lock_guard lock(mutex_);
    return gain_;
  }
  int64_t num_queued() const {
    const std::lock_guard lock(mutex_);
    play();
    return num_queued_;
  }

 private:
  void play() const {  // with mutex_ held
    const Seconds now = clock_.now();
    if (num_queued_ == 0 || gain_ == 0) begin_ = now;
    const auto due = static_cast<int64_t>(std::floor((now - begin_).count() * sample_rate_ + 1e-6));
    const int64_t count = std::min(due, num_queued_);
    num_played_ += count;
    num_queued_ -= count;
    begin_ += Seconds(static_cast<double>(count) / sample_rate_);
  }

  const Clock& clock_;
  const int sample_rate_;
  mutable std::mutex mutex_;
  float gain_ = 1;
  mutable Seconds begin_{0};  // when the first of those queued begins
  mutable int64_t num_queued_ = 0, num_played_ = 0;
};

}  // namespace predgen
