#pragma once

#include <atomic>
#include <stop_token>

#include "audio/audio_sink.h"
#include "audio/playback_buffer.h"

namespace predgen {

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
