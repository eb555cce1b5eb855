#include "hear/end_of_turn.h"

#include <algorithm>
#include <cmath>

namespace predgen {
namespace {

// Log-odds, for pauses that are as frequent in a turn as at its end; they add up if signs are
// independent. smart-turn finds 90 % of the ends, and takes a third of the other pauses for one,
// whatever certainty it claims. The others were chosen on one half of `prompts/dev.jsonl`
// (bench/end_waits.py), by cut-off turns and by how long ends wait.
constexpr double kSoundsUnfinished = -1.9, kSoundsFinished = 0.95;
constexpr double kMostOfWords = 3;    // limit of trust in the words
constexpr double kUnknownWords = -1;  // most pauses are not ends
constexpr double kMarked = 0.7;       // a mark at the end of the words
constexpr double kSure = 1.5, kUnsure = -3.5;

double log_odds(double probability) { return std::log(probability / (1 - probability)); }

}  // namespace

int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits) {
  double odds = kUnknownWords;
  // A probability of 0 or 1 has infinite odds, which are clamped, too.
  if (signs.words) odds = std::clamp(log_odds(*signs.words), -kMostOfWords, kMostOfWords);
  if (signs.sound) odds += std::lerp(kSoundsUnfinished, kSoundsFinished, *signs.sound);
  if (signs.is_marked) odds += kMarked;
  // A straight line: the longer a pause within a turn, the rarer, by a constant factor per unit of
  // time, so waiting adds to the odds as signs do.
  const double doubt = std::clamp((kSure - odds) / (kSure - kUnsure), 0.0, 1.0);
  const auto shortest = static_cast<double>(waits.shortest_ms);
  const auto longest = static_cast<double>(waits.longest_ms);
  const double least = signs.is_marked ? shortest : std::min(1.5 * shortest, longest);
  return std::llround(std::max(std::lerp(shortest, longest, doubt), least));
}

bool EndOfTurn::is_reached(const PauseSigns& signs) const {
  const int64_t wait = waits ? end_wait_ms(signs, *waits) : silence_ms;
  return is_detected && signs.pause_ms >= wait;
}

}  // namespace predgen
