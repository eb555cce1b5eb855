#include "runtime/generate/draft_width.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace predgen {
namespace {

size_t index_of(int64_t place, size_t count) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(static_cast<uint64_t>(place))),
                          count - 1);
}

/// Costs of making and checking 0, 1, .. `widest` guesses; empty: all cost the same.
std::vector<double> costs_of(int64_t widest, const DraftWidthConfig& config) {
  // If additional tokens cost nothing, the widest draft is the best, however seldom it is right.
  const bool is_flat = config.costs.is_flat();
  if (is_flat && !config.is_by_model) return {};
  const auto pass = [&](int64_t width) { return is_flat ? 1 : config.costs.of(1 + width).count(); };
  const double draft_pass = config.is_by_model ? config.costs.draft_cost() * pass(0) : 0;
  std::vector<double> costs;
  for (int64_t width = 0; width <= widest; ++width) {
    costs.push_back(pass(width) + draft_pass * static_cast<double>(width));
  }
  return costs;
}

/// How many of `width` tokens are guesses, if masks make them.
int64_t num_guesses(int64_t width, int64_t most_masks) {
  const int64_t masks = masks_within(width, most_masks);
  return masks < most_masks ? masks : width - masks * (masks + 1);
}

}  // namespace

int64_t masks_within(int64_t width, int64_t most) {
  int64_t masks = 0;
  while (masks < most && (masks + 1) * (masks + 3) <= width) ++masks;
  return masks;
}

DraftWidth::DraftWidth(int64_t widest, const DraftWidthConfig& config)
    : widest_(widest),
      num_masks_(config.num_masks),
      costs_(costs_of(widest, config)),
      start_{.right = kTried * config.first_rate, .tried = kTried} {
  if (widest < 1) throw UserError("the draft width is {}, but must be at least 1", widest);
  if (num_masks_ > 0 && widest < 3) {
    throw UserError("the draft width is {}, but with an adapter's mask tokens must be at least 3",
                    widest);
  }
  places_[0] = start_;
  if (config.reruns && !config.costs.is_flat()) {
    rerun_cost_ = (config.costs.of(2) - config.costs.of(1)).count();
  }
}

int64_t DraftWidth::best() const {
  if (costs_.empty()) return widest_;
  std::array<double, std::tuple_size_v<decltype(places_)>> rates{};
  for (size_t i = 0; i < rates.size(); ++i) {
    const Place before = i == 0 ? Place{} : Place{.right = kTried * rates[i - 1], .tried = kTried};
    rates[i] = (places_[i].right + before.right) / (places_[i].tried + before.tried);
  }
  int64_t best = 0, checked = 0;
  double best_speed = 0, tokens = 1, chance = 1;
  for (int64_t width = 0; width <= widest_; ++width) {
    for (; checked < num_guesses(width, num_masks_); ++checked) {
      chance *= rates[index_of(checked, rates.size())];
      tokens += chance;  // each guess counts if it and all before it are right
    }
    // All that are expected to be right, unless all are.
    const double again = tokens - 1 - chance * static_cast<double>(checked);
    const double speed = tokens / (costs_[static_cast<size_t>(width)] + rerun_cost_ * again);
    if (speed > best_speed) {
      best_speed = speed;
      best = width;
    }
  }
  return best;
}

void DraftWidth::record(int64_t checked, int64_t right) {
  const auto keep = [](Place& place, double kept) {
    place.right *= kept;
    place.tried *= kept;
  };
  if (checked == 0) {
    for (Place& place : places_) keep(place, 0.98);
    places_[0].right += 0.02 * start_.right;
    places_[0].tried += 0.02 * start_.tried;
    return;
  }
  const int64_t tried = right + (right < checked ? 1 : 0);
  // Untried places are forgotten more slowly, so that they will be tried.
  const size_t last = index_of(tried - 1, places_.size());
  for (size_t i = 0; i < places_.size(); ++i) keep(places_[i], i <= last ? 0.9 : 0.98);
  for (int64_t place = 0; place < tried; ++place) {
    Place& at = places_[index_of(place, places_.size())];
    at.tried += 1;
    if (place < right) at.right += 1;
  }
}

void DraftWidth::learn(const MadeDraft& made, TokenSpan tokens) {
  if (std::ranges::mismatch(made.text, tokens).in1 != made.text.end()) return;
  const TokenSpan found = tokens.subspan(made.text.size());
  const int64_t checked = std::min(std::ssize(made.draft), std::ssize(found));
  const int64_t right = std::ranges::mismatch(made.draft, found).in1 - made.draft.begin();
  if (checked > 0) record(checked, right);
}

}  // namespace predgen
