#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "audio/audio_sink.h"
#include "audio/sample_ring.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/stop.h"

namespace predgen {

/// Raw mono 16-bit little-endian samples to a file descriptor, for another program to play. What
/// was written counts as played when a program that began with the first sample would have played
/// it. A stop ends a write() that waits for that program: it throws Interrupted. From the first
/// sink on, this process ignores SIGPIPE: if that program has ended, write() throws Error.
class PcmSink : public AudioSink {
 public:
  /// The descriptor is not closed. `sample_rate`: Hz. `clock`: borrowed; null: the system's.
  PcmSink(int descriptor, int sample_rate, std::stop_token stop, const Clock* clock = nullptr);

  void write(std::span<const float> samples) override;
  void clear() override { gives_up_ = false; }
  void give_up() override { gives_up_ = true; }
  void set_gain(float) override {}
  void drain() override {}
  int64_t num_played() const override;
  void expect_nothing() override {}
  int64_t num_underruns() const override { return 0; }

 private:
  const int descriptor_;
  const int sample_rate_;
  const SystemClock system_clock_;
  const Clock& clock_;
  const StoppablePoll poll_;
  std::atomic<bool> gives_up_ = false;

  mutable Mutex mutex_;
  int64_t num_written_ GUARDED_BY(mutex_) = 0;
  Seconds end_ GUARDED_BY(mutex_){0};  // when what was written will have been played
};

/// "play", "none", "-" (raw 16-bit samples on stdout) or the name of a .wav file; UserError for
/// anything else. Rates in Hz: of the samples that will be written, and of the file or stream,
/// where 0 means the samples' own. For a loudspeaker that does not play `sample_rate`, sound is
/// resampled. A sink that waits throws Interrupted after a stop. `played`: begins if this is a
/// loudspeaker, and outlives it; null: not needed.
std::unique_ptr<AudioSink> make_audio_sink(const std::string& target, int sample_rate,
                                           int output_rate, std::stop_token stop,
                                           PlayedSound* played = nullptr);

}  // namespace predgen
