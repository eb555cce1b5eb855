#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "audio/audio_source.h"
#include "audio/echo/echo_canceller.h"
#include "audio/echo/echo_reference.h"
#include "audio/resampler.h"

namespace predgen {

/// Decides which microphone signal to use, by what is played: an echo canceller learns from the
/// very sound that it has to remove, so in the first seconds it leaves words of it.
class EchoGuard {
 public:
  enum class Choice {
    kHeard,    // nothing is played: the sound as recorded
    kCleaned,  // the canceller's output
    kNothing,  // the canceller's output is not usable either
  };

  /// The next frame of 10 ms: what was played, and what was heard with and without its echo.
  Choice choose(std::span<const float> played, std::span<const float> heard,
                std::span<const float> cleaned);
  /// The canceller has to learn again.
  void forget();
  /// Whether the canceller has learnt.
  bool has_learnt() const { return has_learnt_; }

 private:
  static constexpr double kSilence = 1e-6;  // mean square: -60 dB of full scale

  void begin_answer();

  bool has_learnt_ = false;
  int64_t echo_frames_ = 0;         // for how many more there may be an echo
  int64_t played_frames_ = 0;       // of this answer, with an echo
  int64_t poor_frames_ = 0;         // in a row in which much echo was left
  double heard_ = 0, cleaned_ = 0;  // energy in the last of these
  double noise_ = kSilence;         // mean square of what is heard while nothing is played
};

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
