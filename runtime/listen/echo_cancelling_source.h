#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/listen/audio_source.h"
#include "runtime/listen/echo_canceller.h"
#include "runtime/listen/echo_guard.h"
#include "runtime/listen/echo_reference.h"
#include "runtime/speech/resampling_sink.h"

namespace predgen {

/// A microphone that does not hear the loudspeaker of this program: 16 kHz, 10 ms later. Where
/// nothing was played for half a second, it is as it was recorded; while something is, it is silent
/// until the canceller has learnt the room. Memory is bounded.
class EchoCancellingSource : public AudioSource {
 public:
  /// Borrows what is played, which has begun. UserError where the program has no canceller.
  EchoCancellingSource(std::unique_ptr<AudioSource> microphone, PlayedSound& played);

  int sample_rate() const override { return EchoReference::kRate; }
  std::span<const float> read() override;

  /// Whether it may hear while something is played.
  bool has_learnt() const { return guard_.has_learnt(); }

 private:
  using Frame = std::array<float, EchoCanceller::kFrame>;

  void clean(std::span<const float> frame);

  const std::unique_ptr<AudioSource> microphone_;
  EchoReference reference_;
  EchoCanceller canceller_;
  EchoGuard guard_;
  std::vector<float> heard_;              // not cleaned yet
  std::unique_ptr<AudioSink> resampler_;  // into it; null: the microphone has this rate
  std::vector<float> output_;
  Frame before_{};  // what was heard a frame ago
  float heard_share_ = 1, cleaned_share_ = 0;
  bool is_told_ = false;
};

}  // namespace predgen
