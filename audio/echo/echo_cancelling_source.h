#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "audio/audio_source.h"
#include "audio/echo/echo_canceller.h"
#include "audio/echo/echo_guard.h"
#include "audio/echo/echo_reference.h"
#include "audio/resampler.h"

namespace predgen {

/// A microphone without the echo of this program's loudspeaker: 16 kHz, 10 ms late. The sound is as
/// recorded if nothing was played for half a second; during playback it is silent until the
/// canceller has learnt the room. Memory is bounded.
class EchoCancellingSource : public AudioSource {
 public:
  /// Borrows `played`, which has begun. UserError if this build has no canceller.
  EchoCancellingSource(std::unique_ptr<AudioSource> microphone, PlayedSound& played);

  int sample_rate() const override { return EchoReference::kRate; }
  std::span<const float> read() override;

  /// Whether it can hear the user during playback.
  bool has_learnt() const { return guard_.has_learnt(); }

 private:
  using Frame = std::array<float, EchoCanceller::kFrame>;

  void clean(std::span<const float> frame);

  const std::unique_ptr<AudioSource> microphone_;
  EchoReference reference_;
  EchoCanceller canceller_;
  EchoGuard guard_;
  std::vector<float> heard_;            // not cleaned yet
  std::optional<Resampler> resampler_;  // into heard_; nullopt: the microphone has this rate
  std::vector<float> output_;
  Frame before_{};  // the frame heard before
  float heard_share_ = 1, cleaned_share_ = 0;
  bool is_told_ = false;
};

}  // namespace predgen
