#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/clock.h"

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

/// What a loudspeaker plays, its silence included, as the reference for echo cancellation. The
/// device's thread adds and never waits; at most one other thread takes.
class PlayedSound {
 public:
  /// Before the device plays. `sample_rate`: Hz.
  void begin(int sample_rate) {
    sample_rate_ = sample_rate;
    ring_ = std::make_unique<SampleRing>(static_cast<size_t>(kKeptSeconds * sample_rate));
  }
  /// The device plays nothing after all.
  void end() { sample_rate_ = 0; }
  /// Hz; 0: there is no loudspeaker.
  int sample_rate() const { return sample_rate_; }

  /// Device. Mono, as it will be heard.
  void add(std::span<const float> samples) {
    if (ring_->push(samples) < samples.size()) ++num_losses_;
  }

  /// Listener. Fills the front of `samples` with what was played next, and returns how many.
  size_t take(std::span<float> samples) { return ring_->pop(samples); }
  /// Listener. How often samples were lost because earlier ones had not been taken.
  int64_t num_losses() const { return num_losses_; }

 private:
  static constexpr int kKeptSeconds = 2;

  int sample_rate_ = 0;
  std::unique_ptr<SampleRing> ring_;
  std::atomic<int64_t> num_losses_ = 0;
};

/// Sound on its way from a device's callback to the thread that reads it, a second at most. What
/// finds no room is lost; silence of the same length takes its place, so that times stay right.
class DeviceSound {
 public:
  static constexpr Seconds kGone{
      5};  // without sound: a device that was unplugged may stay "active"

  /// The clock is borrowed.
  DeviceSound(int sample_rate, Clock& clock, std::stop_token stop);

  /// The device's thread. Never waits.
  void push(std::span<const float> samples);

  // The reading thread.

  /// As AudioSource::read(). UserError if the device does not run, or nothing comes for kGone.
  std::span<const float> read(const std::function<bool()>& is_running);
  int64_t num_lost() const { return num_lost_; }  // samples

 private:
  void tell_loss();

  Clock& clock_;
  const std::stop_token stop_;
  SampleRing ring_;
  std::vector<float> block_;
  size_t num_owed_ = 0;  // samples of silence to push; the device's thread
  std::atomic<int64_t> num_lost_ = 0;
  bool is_told_ = false;
};

}  // namespace predgen
