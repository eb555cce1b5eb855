#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>

#include "core/random.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: N rows, V vocabulary.

/// The most likely token of every row; the lowest id among equals. One transfer to the host.
TokenIds argmax_rows(const at::Tensor& logits_NV);

/// Applied in this order, as transformers does.
struct SamplingConfig {
  /// Logits of tokens that are in the sequence already, the prompt included, are divided by it
  /// where positive and multiplied where negative (Keskar et al. 2019); 1: off. > 0
  double repetition_penalty = 1.0;
  /// Subtracted from the logits of tokens that the answer has so far, for each time and once.
  double frequency_penalty = 0, presence_penalty = 0;
  int64_t penalty_window = -1;             // last tokens that penalties see; -1: all
  std::map<TokenId, double> logit_bias{};  // added to logits before all penalties
  double temperature = 1.0;  // 0: the likeliest, the lowest id among equals; the rest is ignored
  int64_t top_k = 0;         // keep the k most likely; 0: all
  double top_p = 1.0;        // then the fewest whose probabilities reach p; in (0, 1]
  double min_p = 0;          // and of those the ones at least p times as likely as the likeliest
  uint64_t seed = 0;

  bool operator==(const SamplingConfig&) const = default;
  /// UserError naming the value that is out of range.
  void validate() const;
  /// Whether logits change before a token is taken, even if that is the likeliest one.
  bool changes_logits() const;
};

/// Draws tokens. Each place in the answer has its own random number, so the draw after a given text
/// is the same however often and in whatever order it is asked for, and speculation gives exactly
/// the text that plain sampling gives.
class Sampler {
 public:
  /// `answer`: its number in a conversation; each answer has its own random numbers.
  explicit Sampler(const SamplingConfig& config, uint64_t answer = 0);
  /// The token after `before`, in which the answer begins at `answer_begin`. `allowed_V`: bool,
  /// those that may be drawn, at least one; undefined: all. UserError for a bias of a token that
  /// the model does not have.
  TokenId sample(const at::Tensor& logits_V, TokenSpan before, int64_t answer_begin,
                 const at::Tensor& allowed_V = {}) const;

 private:
  /// float64 on the device of the logits: after penalties, by temperature.
  at::Tensor scaled(const at::Tensor& logits_V, TokenSpan before, int64_t answer_begin) const;
  /// The index drawn at this place of the answer. `scaled_V`: scaled().
  int64_t draw(const at::Tensor& scaled_V, uint64_t place) const;

  SamplingConfig config_;
  uint64_t seed_;
};

}  // namespace predgen
