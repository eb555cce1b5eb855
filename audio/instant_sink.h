#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "audio/audio_sink.h"

struct sf_private_tag;  // libsndfile's SNDFILE

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

/// Passes what is written to a function, never an empty span.
class CallingSink : public InstantSink {
 public:
  explicit CallingSink(std::function<void(std::span<const float>)> on_samples)
      : on_samples_(std::move(on_samples)) {}

 private:
  void take(std::span<const float> samples) override {
    if (!samples.empty()) on_samples_(samples);
  }

  const std::function<void(std::span<const float>)> on_samples_;
};

/// A mono 16-bit WAV file, valid after every write: a killed program leaves what was spoken.
class WavSink : public InstantSink {
 public:
  /// Replaces the file; UserError if it cannot be written.
  WavSink(const std::filesystem::path& file, int sample_rate);

  void drain() override;

 private:
  void take(std::span<const float> samples) override;

  struct Close {
    void operator()(sf_private_tag* file) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sf_private_tag, Close> file_;
};

}  // namespace predgen
