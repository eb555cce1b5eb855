#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace predgen::ears {

/// The likeliest token behind each of `tokens`, of which the first is at place `offset`: what was
/// given at places before it counts, and what was given at its place or later does not any more.
using LikeliestNext =
    std::function<std::vector<int64_t>(std::span<const int64_t> tokens, int64_t offset)>;

struct TokenLimits {
  int64_t end = 0;   // the token that ends the text
  int64_t most = 0;  // tokens of the text
};

/// Greedy decoding behind `prompt` in fewer passes: `draft` goes along with the first one, and
/// where it is not what the model says, what may be left of it goes on behind the model's token.
/// The tokens are those of one at a time, whatever the draft is. Without the token that ends them.
std::vector<int64_t> decode_drafted(const LikeliestNext& next, const std::vector<int64_t>& prompt,
                                    std::vector<int64_t> draft, const TokenLimits& limits);

}  // namespace predgen::ears
