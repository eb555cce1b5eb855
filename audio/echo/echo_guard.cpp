#include "audio/echo/echo_guard.h"

#include <algorithm>

namespace predgen {
namespace {

constexpr int64_t kEchoFrames = 50;     // how long an echo may follow: its delay, and the room
constexpr int64_t kLeastFrames = 100;   // of sound that was played, to learn from
constexpr double kNoiseRises = 1.002;   // at most, from one frame to the next
constexpr double kKept = 1 - 1.0 / 50;  // of energy, a frame later
constexpr double kEnough = 40;          // of the energy 16 dB are gone
constexpr double kPoor = 16;            // 12 dB: either somebody speaks, ..
constexpr int64_t kPoorFrames = 500;    // .. or the room has changed: nobody speaks for so long

double mean_square(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * sample;
  return sum / static_cast<double>(std::max<size_t>(samples.size(), 1));
}

}  // namespace

EchoGuard::Choice EchoGuard::choose(std::span<const float> played, std::span<const float> heard,
                                    std::span<const float> cleaned) {
  echo_frames_ = mean_square(played) > kSilence ? kEchoFrames : echo_frames_ - 1;
  const double loudness = mean_square(heard);
  if (echo_frames_ <= 0) {
    echo_frames_ = 0;
    begin_answer();
    noise_ = std::min(std::max(loudness, kSilence), noise_ * kNoiseRises);
    return Choice::kHeard;
  }
  heard_ = kKept * heard_ + loudness;
  cleaned_ = kKept * cleaned_ + mean_square(cleaned);
  ++played_frames_;
  // The remaining echo is below the room's own noise.
  const bool is_quiet = cleaned_ * (1 - kKept) < noise_;
  if (!has_learnt_ && played_frames_ >= kLeastFrames) {
    has_learnt_ = is_quiet || heard_ > kEnough * cleaned_;
  }
  const bool is_poor = has_learnt_ && !is_quiet && heard_ < kPoor * cleaned_;
  poor_frames_ = is_poor ? poor_frames_ + 1 : 0;
  if (poor_frames_ > kPoorFrames) forget();
  return has_learnt_ ? Choice::kCleaned : Choice::kNothing;
}

void EchoGuard::forget() {
  has_learnt_ = false;
  begin_answer();
}

void EchoGuard::begin_answer() {
  played_frames_ = poor_frames_ = 0;
  heard_ = cleaned_ = 0;
}

}  // namespace predgen
