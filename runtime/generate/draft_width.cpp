#include "runtime/generate/draft_width.h"

#include "core/error.h"

namespace predgen {

DraftWidth::DraftWidth(int64_t widest, std::vector<double> pass_seconds, double first_rate)
    : widest_(widest), pass_seconds_(std::move(pass_seconds)), first_right_(kTried * first_rate) {
  if (widest < 1) throw UserError("the draft width is {}, but must be at least 1", widest);
  PREDGEN_CHECK(pass_seconds_.empty() || std::ssize(pass_seconds_) == widest + 1,
                "{} prices for widths up to {}", pass_seconds_.size(), widest);
}

int64_t DraftWidth::best() const {
  if (pass_seconds_.empty()) return widest_;
  const double rate = right_ / tried_;
  int64_t best = 0;
  double best_speed = 0, tokens = 0, chance = 1;
  for (int64_t width = 0; width <= widest_; ++width, chance *= rate) {
    tokens += chance;  // the pass's own token, then each guess if all before it are right
    const double speed = tokens / pass_seconds_[static_cast<size_t>(width)];
    if (speed > best_speed) {
      best_speed = speed;
      best = width;
    }
  }
  return best;
}

void DraftWidth::record(int64_t checked, int64_t right) {
  const auto blend = [](double& value, double kept, double added) { value = value * kept + added; };
  if (checked == 0) {
    blend(right_, 0.98, 0.02 * first_right_);
    blend(tried_, 0.98, 0.02 * kTried);
  } else {
    blend(right_, 0.9, static_cast<double>(right));
    blend(tried_, 0.9, static_cast<double>(right + (right < checked ? 1 : 0)));
  }
}

}  // namespace predgen
