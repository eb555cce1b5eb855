#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/random.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: N rows, V vocabulary.

/// The most likely token of every row; the lowest id among equals. One transfer to the host.
TokenIds argmax_rows(const at::Tensor& logits_NV);

/// Applied in this order, as transformers does.
struct SamplingConfig {
  /// Logits of tokens that are in the sequence already, the prompt included, are divided by it
  /// where positive and multiplied where negative (Keskar et al. 2019); 1: nothing. > 0
  double repetition_penalty = 1.0;
  double temperature = 1.0;  // > 0
  int64_t top_k = 0;         // keep the k most likely; 0: all
  double top_p = 1.0;        // then the fewest whose probabilities reach p; in (0, 1]
  uint64_t seed = 0;

  /// UserError naming the value that is out of range.
  void validate() const;
};

/// Draws tokens; the same seed gives the same draws.
class Sampler {
 public:
  explicit Sampler(const SamplingConfig& config);
  /// `sequence`: the tokens before, for the repetition penalty.
  TokenId sample(const at::Tensor& logits_V, TokenSpan sequence);

 private:
  SamplingConfig config_;
  Random random_;
};

}  // namespace predgen
