#pragma once

#include <cstdint>
#include <span>

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

}  // namespace predgen
