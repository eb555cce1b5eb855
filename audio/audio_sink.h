#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <utility>

struct sf_private_tag;  // libsndfile's SNDFILE

namespace predgen {

/// Where speech goes: a file, a player. Called from the speech thread unless noted otherwise.
class AudioSink {
 public:
  virtual ~AudioSink() = default;

  /// Mono float samples in [-1,1], in order. May wait for the device.
  virtual void write(std::span<const float> samples) = 0;

  /// Drops what was written and not yet played: barge-in. Not during a write().
  virtual void clear() = 0;
  /// Makes a write() that waits for the device return, and drops the rest of it and all that is
  /// written before the next clear(), which follows. Any thread.
  virtual void give_up() = 0;

  /// Volume from here on, in [0,1], reached without a click; 0: paused in place, and nothing is
  /// lost. Files and pipes, which nobody hears yet, ignore it. Any thread.
  virtual void set_gain(float gain) = 0;

  /// Returns when everything written has been played or is on disk.
  virtual void drain() = 0;

  /// Samples of write() that were really played since the sink was made; what clear() dropped never
  /// counts, but a device may finish a buffer that it was filling then. In a file, what was written
  /// counts as played. Any thread.
  virtual int64_t num_played() const = 0;

  /// No write() comes soon: a device that runs dry from now on has no underrun. Any thread.
  virtual void expect_nothing() = 0;
  /// Device buffers that ran short while more was expected: audible gaps. Any thread.
  virtual int64_t num_underruns() const = 0;
};

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
