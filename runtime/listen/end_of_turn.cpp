#include "runtime/listen/end_of_turn.h"

#include <algorithm>
#include <cmath>

namespace predgen {
namespace {

// In log-odds, which add up where signs are independent. All were set by hand, after these facts:
// one pause in three ends a turn; pauses inside of one become rarer by a factor of e every 0.4 s;
// smart-turn finds 90 % of the ends, and takes a third of the other pauses for one, whatever
// certainty it claims. Words are believed up to odds of 20 to 1.
constexpr double kAtFirst = -0.7;
constexpr double kPausePerMs = 1.0 / 400;
constexpr double kSoundsUnfinished = -1.9, kSoundsFinished = 0.95;
constexpr double kMostOfWords = 3;

double log_odds(double probability) { return std::log(probability / (1 - probability)); }

}  // namespace

double end_probability(const PauseSigns& signs) {
  double odds = kAtFirst + static_cast<double>(signs.pause_ms) * kPausePerMs;
  if (signs.sound) odds += std::lerp(kSoundsUnfinished, kSoundsFinished, *signs.sound);
  // A probability of 0 or 1 has infinite odds, which are cut off, too.
  if (signs.words) odds += std::clamp(log_odds(*signs.words), -kMostOfWords, kMostOfWords);
  return 1 / (1 + std::exp(-odds));
}

int64_t end_wait_ms(double probability, const EndWaits& waits) {
  return std::llround(std::lerp(static_cast<double>(waits.longest_ms),
                                static_cast<double>(waits.shortest_ms), probability));
}

bool EndOfTurn::is_reached(const PauseSigns& signs) const {
  const int64_t wait = waits ? end_wait_ms(end_probability(signs), *waits) : silence_ms;
  return is_detected && signs.pause_ms >= wait;
}

}  // namespace predgen
