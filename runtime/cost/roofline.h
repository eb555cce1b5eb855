#pragma once

#include <span>

#include "runtime/cost/pass_costs.h"

namespace predgen {

/// A graphics card, by its maker's data sheet: memory bandwidth, and bfloat16 without sparsity.
struct Card {
  const char* name;   // as a cost
  const char* title;  // as people call it
  double bytes_per_second, flops_per_second;
};

std::span<const Card> cards();

/// What a roofline is made of, and a draft model's share of a cost.
struct CostedModel {
  double bytes = 0;            // that a decoding step reads: weights, without keys and values
  double flops_per_token = 0;  // two for each weight that a token meets
};

/// A pass costs its bytes over the card's bandwidth, and each token its operations over the card's
/// dense bfloat16 peak: the two never overlap, and nothing else takes time.
PassCosts roofline(const CostedModel& model, const Card& card);

}  // namespace predgen
