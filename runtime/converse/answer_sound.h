#pragma once

#include <cstdint>

#include "audio/audio_sink.h"
#include "hear/turn_taking.h"

namespace predgen {

/// The answers' sound, as the user's voice and words act on it. Used by one thread at a time;
/// borrows the sink. Null: another plays it, so nothing is heard here, and nothing gets softer.
class AnswerSound {
 public:
  explicit AnswerSound(AudioSink* sink) : sink_(sink) {}

  void set(Loudness loudness) {
    constexpr float kDucked = 0.25f;  // -12 dB
    if (sink_ == nullptr) return;
    const bool is_full = loudness == Loudness::kFull;
    sink_->set_gain(is_full ? 1.0f : loudness == Loudness::kDucked ? kDucked : 0.0f);
  }
  /// Another answer begins.
  void begin() {
    if (sink_ != nullptr) num_before_ = sink_->num_played();
  }
  /// Whether any of it was played.
  bool is_heard() const { return sink_ != nullptr && sink_->num_played() > num_before_; }

 private:
  AudioSink* const sink_;
  int64_t num_before_ = 0;  // samples of the answers before
};

}  // namespace predgen
