#pragma once

#include <vector>

#include "runtime/cost/pass_costs.h"

namespace predgen {

/// Of passes over 1, 2, .. tokens; none: not known.
inline PassCosts pass_table(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  std::vector<PassCosts::Point> points;
  for (const double one : seconds) points.push_back({std::ssize(points) + 1, Seconds(one)});
  return PassCosts::measured(points);
}

/// With a draft model whose pass costs `share` of one of the model.
inline PassCosts with_draft_cost(double share,
                                 const PassCosts& costs = PassCosts::given(Seconds(1))) {
  return costs.with_draft_model(PassCosts::given(costs.of(1) * share));
}

}  // namespace predgen
