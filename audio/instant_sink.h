#pragma once

#include <atomic>

#include "audio/audio_sink.h"

namespace predgen {

/// A sink without a queue: what it has taken counts as played.
class InstantSink : public AudioSink {
 public:
  void write(std::span<const float> samples) final {
    take(samples);
    num_taken_ += std::ssize(samples);
  }
  void clear() override {}
  void give_up() override {}
  void set_gain(float) override {}
  void drain() override {}
  int64_t num_played() const final { return num_taken_; }
  void expect_nothing() override {}
  int64_t num_underruns() const override { return 0; }

 private:
  /// As write(). A call that throws has taken nothing.
  virtual void take(std::span<const float> samples) = 0;

  std::atomic<int64_t> num_taken_ = 0;
};

}  // namespace predgen
