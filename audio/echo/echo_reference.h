#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/resampler.h"
#include "audio/sample_ring.h"

namespace predgen {

/// What was played, aligned with what a microphone hears: one sample for each of its samples.
///
/// Both devices exchange sound in blocks. A played sample is added when its device takes it, before
/// it sounds, and is paired with the next recorded sample, so it is always ahead of its echo: by
/// the buffers of both devices and the path through the room. This lead must be shorter than the
/// canceller's filter, and is constant while nothing is repeated or dropped: where a block of the
/// loudspeaker is late, silence takes its place, and from then on that much more is queued; where
/// too much is queued all the time, because the devices' clocks differ or microphone sound was
/// lost, the oldest is dropped. Used by the microphone's thread.
class EchoReference {
 public:
  static constexpr int kRate = 16'000;  // Hz

  /// Borrows `played`, which has begun.
  explicit EchoReference(PlayedSound& played);

  /// Fills `samples`, one for each sample heard since the last call. False: from here on echoes are
  /// later or earlier than before.
  bool take(std::span<float> samples);

  int64_t num_waiting() const { return std::ssize(queue_); }  // samples, as below
  int64_t num_dropped() const { return num_dropped_; }
  int64_t num_repeated() const { return num_repeated_; }  // of silence

 private:
  void pull();
  void drop(size_t num_samples);

  PlayedSound& played_;
  std::vector<float> queue_;  // played, at kRate, not taken yet
  Resampler resampler_;       // into it
  std::vector<float> piece_;
  bool has_begun_ = false;
  int64_t num_losses_ = 0;
  // Of the current stretch of time.
  int64_t stretch_ = 0;
  size_t least_waiting_ = 0;
  int64_t num_dropped_ = 0, num_repeated_ = 0;
};

}  // namespace predgen
