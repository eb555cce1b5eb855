#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <stop_token>

#include "audio/audio_sink.h"
#include "audio/sample_ring.h"

namespace predgen {

/// What an audio device plays next. One thread writes; the device's thread fills its buffers and
/// never waits, so gain and clear are heard from its next buffer on.
class PlaybackBuffer {
 public:
  /// `played`: receives what the device gets, and outlives this; null: none.
  explicit PlaybackBuffer(size_t capacity, PlayedSound* played = nullptr)
      : ring_(capacity), played_(played) {}

  /// Before the device plays: the ramp between full gain and none takes this many samples, at least
  /// 1, which is a jump.
  void set_ramp(int num_samples) { level_ = target_ = ramp_ = num_samples; }

  /// Writer. Takes what fits and returns how many samples that were.
  size_t push(std::span<const float> samples);
  /// Writer. Forgets what was not played.
  void clear();
  /// Any thread. No more samples follow soon: an empty buffer is no underrun.
  void expect_nothing() { expects_samples_ = false; }
  /// Any thread. In [0,1]; at 0 silence, with everything kept.
  void set_gain(float gain) {
    target_ = static_cast<int>(std::lround(gain * static_cast<float>(ramp_)));
  }
  /// Any thread. Samples still to be played.
  size_t size() const { return ring_.size(); }
  /// Any thread. Samples that the device has taken since the start.
  int64_t num_played() const { return num_played_; }

  /// Device. What to play now; silence where the buffer is empty.
  void fill(std::span<float> samples);

  /// Device buffers that ran short while more was expected: audible gaps.
  int64_t num_underruns() const { return num_underruns_; }

 private:
  void play(std::span<float> samples);
  /// Takes the level to the target, sample by sample.
  void apply_gain(std::span<float> samples, int target);

  SampleRing ring_;
  PlayedSound* const played_;
  // The gain is level / ramp.
  int ramp_ = 1;
  std::atomic<int> target_ = 1;
  int level_ = 1;  // device
  std::atomic<bool> expects_samples_ = false;
  std::atomic<int64_t> num_played_ = 0, num_underruns_ = 0;
};

/// The default loudspeaker through PortAudio. write() waits only when a minute of audio is queued;
/// clear() and set_gain() are heard from the next device buffer on; what the device has taken
/// counts as played. A stop ends a wait of write() and drain() within milliseconds: they throw
/// Interrupted.
class PlayerSink : public AudioSink {
 public:
  /// `preferred_rate`: Hz; a device that cannot play at it uses its own rate instead. `played`:
  /// receives what the device gets, and outlives this; null: none. UserError if there is no output
  /// device.
  PlayerSink(int preferred_rate, std::stop_token stop, PlayedSound* played = nullptr);
  ~PlayerSink() override;  // drops what was not played: drain() first
  PlayerSink(const PlayerSink&) = delete;
  PlayerSink& operator=(const PlayerSink&) = delete;

  void write(std::span<const float> samples) override;
  void clear() override;
  void give_up() override { gives_up_ = true; }
  void set_gain(float gain) override { buffer_.set_gain(gain); }
  void drain() override;
  int64_t num_played() const override { return buffer_.num_played(); }
  void expect_nothing() override { buffer_.expect_nothing(); }
  int64_t num_underruns() const override { return buffer_.num_underruns(); }

  int sample_rate() const { return sample_rate_; }  // Hz, of what write() takes

 private:
  /// Error if the device has gone.
  void check_device() const;
  void wait_a_little() const;

  int sample_rate_;
  const std::stop_token stop_;
  std::atomic<bool> gives_up_ = false;
  PlaybackBuffer buffer_;
  void* stream_ = nullptr;  // PaStream
};

}  // namespace predgen
