#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/speech/played_sound.h"
#include "runtime/speech/resampling_sink.h"

namespace predgen {

/// What was played, in step with what a microphone hears: a sample for each of its samples.
///
/// Both devices hand over their sound in pieces. A sample is told when its device has taken it,
/// before it sounds, and is given with the next one that was heard, so that it is always ahead of
/// its echo: by what both devices keep in their buffers, and the way through the room. That must be
/// shorter than the filter of the canceller, and stays the same while nothing is repeated or
/// dropped: where a piece of the loudspeaker is late, silence takes its place, and from then on as
/// much waits; where too much waits all the time, as the clocks of the devices differ or sound of
/// the microphone was lost, the oldest is dropped. Used by the microphone's thread.
class EchoReference {
 public:
  static constexpr int kRate = 16'000;  // Hz

  /// Borrows it; it has begun.
  explicit EchoReference(PlayedSound& played);

  /// Fills `samples`, of which as many were heard since. False: from here on echoes are later or
  /// earlier than they were.
  bool take(std::span<float> samples);

  int64_t num_waiting() const { return std::ssize(queue_); }  // samples, as the others
  int64_t num_dropped() const { return num_dropped_; }
  int64_t num_repeated() const { return num_repeated_; }  // of silence

 private:
  void pull();
  void drop(size_t num_samples);

  PlayedSound& played_;
  std::vector<float> queue_;  // played, at kRate, not given yet
  ResamplingSink resampler_;  // into it
  std::vector<float> piece_;
  bool has_begun_ = false;
  int64_t num_losses_ = 0;
  // Of the stretch of time under way.
  int64_t stretch_ = 0;
  size_t least_waiting_ = 0;
  int64_t num_dropped_ = 0, num_repeated_ = 0;
};

}  // namespace predgen
