#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "text/token_ids.h"

namespace predgen {

// Shapes: D draft tokens, V vocabulary.

struct Draft {
  TokenSpan tokens;            // D >= 1 answer tokens guessed from an earlier prompt
  at::Tensor logits_DV;        // row i: the model's prediction for tokens[i], given the new prompt
  int64_t first_sentence = 0;  // tokens of the first sentence; beyond it only argmax is accepted
  TokenSpan stop_tokens;       // accepted only as argmax
  std::string_view prompt_text;  // the user's words so far
};

/// Decides how much of a draft survives a change of prompt (paper section 3.1).
class Verifier {
 public:
  virtual ~Verifier() = default;

  /// Length of the accepted prefix, in [0, D].
  virtual int64_t count_accepted(const Draft& draft) = 0;
};

}  // namespace predgen
