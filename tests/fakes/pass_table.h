#pragma once

#include <vector>

#include "runtime/price/pass_prices.h"

namespace predgen {

/// Of passes over 1, 2, .. tokens; none: not known.
inline PassPrices pass_table(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  std::vector<PassPrices::Point> points;
  for (const double one : seconds) points.push_back({std::ssize(points) + 1, Seconds(one)});
  return PassPrices::measured(points);
}

/// With a draft model whose pass costs `share` of one of the model.
inline PassPrices with_draft_price(double share,
                                   const PassPrices& prices = PassPrices::given(Seconds(1))) {
  return prices.with_draft_model(PassPrices::given(prices.of(1) * share));
}

}  // namespace predgen
