#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "audio/audio_sink.h"

namespace predgen {

/// Keeps what was written, for any thread to look at; it counts as played.
class BufferSink : public AudioSink {
 public:
  void write(std::span<const float> samples) override {
    const std::lock_guard lock(mutex_);
    if (fail) throw std::runtime_error("the sink is broken");
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    num_played_ += std::ssize(samples);
    changed_.notify_all();
  }
  void clear() override {
    const std::lock_guard lock(mutex_);
    samples_.clear();
  }
  void give_up() override {}
  void set_gain(float) override {}
  void drain() override {}
  int64_t num_played() const override { return num_played_; }
  void expect_nothing() override { expects = false; }
  int64_t num_underruns() const override { return underruns; }

  std::vector<float> samples() const {
    const std::lock_guard lock(mutex_);
    return samples_;
  }
  /// Returns when so many samples were written; throws if they never come.
  void wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20),
                           [&] { return samples_.size() >= count; })) {
      throw std::runtime_error("the sink waits for samples in vain");
    }
  }

  bool fail = false;
  std::atomic<bool> expects = true;
  std::atomic<int64_t> underruns = 0;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> samples_;
  std::atomic<int64_t> num_played_ = 0;
};

}  // namespace predgen
