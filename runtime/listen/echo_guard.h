#pragma once

#include <cstdint>
#include <span>

namespace predgen {

/// Decides what of a microphone is listened to, by what is played: an echo canceller learns from
/// the sound that it is to take out, so in the first seconds it leaves words of that.
class EchoGuard {
 public:
  enum class Choice {
    kHeard,    // nothing is played: as it comes
    kCleaned,  // what the canceller leaves
    kNothing,  // nor is that fit to be listened to
  };

  /// The next frame of 10 ms: what was played, and what was heard with and without its echo.
  Choice choose(std::span<const float> played, std::span<const float> heard,
                std::span<const float> cleaned);
  /// The canceller has to learn anew.
  void forget();
  /// Whether the canceller has learnt.
  bool has_learnt() const { return has_learnt_; }

 private:
  static constexpr double kSilence = 1e-6;  // mean square: -60 dB of full scale

  void begin_answer();

  bool has_learnt_ = false;
  int64_t echo_frames_ = 0;         // so long there may be an echo still
  int64_t played_frames_ = 0;       // of this answer, with an echo
  int64_t poor_frames_ = 0;         // in which much of it was left, one after the other
  double heard_ = 0, cleaned_ = 0;  // energy in the last of these
  double noise_ = kSilence;         // mean square of what is heard while nothing is played
};

}  // namespace predgen
