#include "runtime/listen/end_of_turn.h"

#include <algorithm>
#include <cmath>

namespace predgen {
namespace {

// In log-odds of a pause that is as often in a turn as at its end; they add up where signs are
// independent. smart-turn finds 90 % of the ends, and takes a third of the other pauses for one,
// whatever certainty it claims. The others were chosen on one half of `prompts/dev.jsonl`
// (bench/end_waits.py): where they cut a turn off, and how long its end waits.
constexpr double kSoundsUnfinished = -1.9, kSoundsFinished = 0.95;
constexpr double kMostOfWords = 3;    // words are believed so far
constexpr double kUnknownWords = -1;  // most pauses are no ends
constexpr double kSure = 1, kUnsure = -3.5;

double log_odds(double probability) { return std::log(probability / (1 - probability)); }

}  // namespace

int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits) {
  double odds = kUnknownWords;
  // A probability of 0 or 1 has infinite odds, which are cut off, too.
  if (signs.words) odds = std::clamp(log_odds(*signs.words), -kMostOfWords, kMostOfWords);
  if (signs.sound) odds += std::lerp(kSoundsUnfinished, kSoundsFinished, *signs.sound);
  // A straight line: longer pauses become rarer in a turn by the same factor every so often, so
  // waiting adds to the odds as signs do.
  const double doubt = std::clamp((kSure - odds) / (kSure - kUnsure), 0.0, 1.0);
  return std::llround(std::lerp(static_cast<double>(waits.shortest_ms),
                                static_cast<double>(waits.longest_ms), doubt));
}

bool EndOfTurn::is_reached(const PauseSigns& signs) const {
  const int64_t wait = waits ? end_wait_ms(signs, *waits) : silence_ms;
  return is_detected && signs.pause_ms >= wait;
}

}  // namespace predgen
