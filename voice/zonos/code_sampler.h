#pragma once

#include <ATen/ATen.h>
#include <ATen/core/Generator.h>

#include <cstdint>
#include <span>

#include "voice/zonos/code_grid.h"

namespace predgen {

/// Applied in this order, as in Zyphra's sampling.py; 0 disables settings after temperature.
struct CodeSamplingConfig {
  /// For codes in the last `repetition_window` columns, positive logits are divided by it and
  /// others multiplied, once per occurrence; 1: off. > 0
  double repetition_penalty = 3.0;
  int64_t repetition_window = 2;
  double temperature = 1.0;  // 0: the most likely code
  /// "Unified" sampling: log p -> log p * (linear + entropy * confidence) - (log p)^2 * quadratic.
  double linear = 0.0;  // >= 0; 0: off, then the other two must be 0
  double confidence = 0.0;
  double quadratic = 0.0;
  double top_p = 0.0;  // in [0,1]
  int64_t top_k = 0;
  double min_p = 0.1;  // in [0,1]: keeps codes at least this likely relative to the likeliest
  /// Subtracted from codebook 0's EOS logit; ln 2 makes clipped endings rarer.
  double eos_penalty = 0.0;
  uint64_t seed = 0;
  /// Draws 1026 numbers per codebook, not 1025, as Python does: the same codes for its seed.
  bool python_draws = false;

  /// UserError naming the value that is out of range.
  void validate() const;
};

/// Draws columns of codes; the same seed gives the same draws.
class CodeSampler {
 public:
  explicit CodeSampler(const CodeSamplingConfig& config);
  CodeSampler(CodeSampler&&) = default;
  CodeSampler& operator=(CodeSampler&&) = default;

  /// The next column of `grid` from float32 logits [9,1025] on the CPU.
  CodeColumn sample(const at::Tensor& logits_KV, const CodeGrid& grid);

 private:
  CodeSamplingConfig config_;
  at::Generator generator_;
};

/// All steps but the repetition penalty: the filtered softmax(logits / temperature), [..,V].
at::Tensor filtered_probabilities(const at::Tensor& logits, const CodeSamplingConfig& config);
/// Applies the repetition penalty to a copy: `history` holds the columns that count.
at::Tensor penalize_repetition(const at::Tensor& logits_KV, std::span<const CodeColumn> history,
                               double penalty);

}  // namespace predgen
