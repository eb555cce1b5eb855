#include "runtime/cost/pass_costs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/error.h"

namespace predgen {

PassCosts PassCosts::given(Seconds per_pass, Seconds per_token) {
  PassCosts costs;
  costs.model_ = Line{per_pass, per_token};
  return costs;
}

PassCosts PassCosts::measured(std::vector<Point> points) {
  const auto wrong = std::ranges::adjacent_find(points, std::greater_equal<>(), &Point::num_tokens);
  PREDGEN_CHECK(!points.empty() && points.front().num_tokens == 1 && wrong == points.end(),
                "{} costs of passes, not of 1 and ever more tokens", points.size());
  PassCosts costs;
  costs.model_ = std::move(points);
  return costs;
}

PassCosts PassCosts::with_draft_model(const PassCosts& own) const {
  PassCosts costs = *this;
  costs.draft_model_ = own.model_;
  return costs;
}

bool PassCosts::is_flat() const {
  const Line* given = line();
  return given ? given->per_token <= Seconds(0) : !is_known();
}

Seconds PassCosts::of(int64_t num_tokens) const {
  PREDGEN_CHECK(is_known() && num_tokens >= 1, "no cost of a pass over {} tokens", num_tokens);
  if (const Line* given = line()) {
    return given->per_pass + given->per_token * static_cast<double>(num_tokens);
  }
  const auto& points = std::get<std::vector<Point>>(model_);
  if (points.size() == 1) return points.front().seconds;
  const auto end = std::ranges::lower_bound(points.begin() + 1, points.end() - 1, num_tokens,
                                            std::less<>(), &Point::num_tokens);
  const Point &before = *(end - 1), &behind = *end;
  return Seconds(std::lerp(before.seconds.count(), behind.seconds.count(),
                           static_cast<double>(num_tokens - before.num_tokens) /
                               static_cast<double>(behind.num_tokens - before.num_tokens)));
}

int64_t PassCosts::tokens_for(double steps) const {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max(), kWidest = 17;
  if (is_flat()) return kAny;
  const auto* points = std::get_if<std::vector<Point>>(&model_);
  const int64_t widest = points ? points->back().num_tokens : kWidest;
  if (widest == 1) return kAny;
  const double one = of(1).count();
  const double growth = (of(widest).count() - one) / static_cast<double>(widest - 1);
  const double tokens = steps * one / growth;
  return growth <= 0 || tokens >= 1e9 ? kAny : static_cast<int64_t>(tokens);
}

double PassCosts::draft_cost() const {
  const PassCosts draft_model = of_draft_model();
  if (!draft_model.is_known() || !is_known() || of(1) <= Seconds(0)) return 1;
  return draft_model.of(1) / of(1);
}

PassCosts PassCosts::of_draft_model() const {
  PassCosts costs;
  costs.model_ = draft_model_;
  return costs;
}

std::span<const Card> cards() {
  static constexpr Card kCards[] = {{"rtx4090", "RTX 4090", 1.008e12, 165.2e12},
                                    {"h100", "H100 SXM", 3.35e12, 989.4e12}};
  return kCards;
}

PassCosts roofline(const CostedModel& model, const Card& card) {
  return PassCosts::given(Seconds(model.bytes / card.bytes_per_second),
                          Seconds(model.flops_per_token / card.flops_per_second));
}

}  // namespace predgen
