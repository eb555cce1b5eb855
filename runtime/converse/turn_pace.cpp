#include "runtime/converse/turn_pace.h"

#include <algorithm>
#include <utility>

namespace predgen {
namespace {

constexpr size_t kTurns = 4;      // that are looked at
constexpr double kSlowest = 1.5;  // a sentence may take this many times as long as before

}  // namespace

void AnswerPace::begin(Seconds now, int64_t num_passes) {
  now_ = now;
  num_passes_ = num_passes;
  begins_ = true;
}

void AnswerPace::on_tokens(Seconds now, int64_t num_passes, int64_t num_tokens) {
  const bool begins = std::exchange(begins_, false);
  const Seconds taken = now - std::exchange(now_, now);
  if (std::exchange(num_passes_, num_passes) == num_passes) return;
  if (begins) {
    first_ = taken;
  } else {
    later_ += taken;
    num_later_ += num_tokens;
  }
}

std::optional<Seconds> AnswerPace::of(int64_t num_tokens) const {
  if (num_later_ == 0) return std::nullopt;
  return first_ + later_ * (static_cast<double>(num_tokens) / static_cast<double>(num_later_));
}

void PauseHistory::add(Seconds pause, Seconds sentence) {
  turns_.push_back({pause, sentence});
  if (turns_.size() > kTurns) turns_.pop_front();
}

bool PauseHistory::can_wait() const {
  if (turns_.empty()) return false;
  const Seconds slowest = std::ranges::max(turns_, {}, &Turn::sentence).sentence;
  return std::ranges::min(turns_, {}, &Turn::pause).pause >= kSlowest * slowest;
}

}  // namespace predgen
