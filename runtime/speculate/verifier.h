#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "runtime/generate/generator.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: D draft tokens, V vocabulary.

struct Draft {
  TokenSpan tokens;            // D >= 1 answer tokens guessed from an earlier prompt
  at::Tensor logits_DV;        // row i: the model's prediction for tokens[i], given the new prompt
  int64_t first_sentence = 0;  // tokens of the first sentence; beyond it only argmax is accepted
  TokenSpan stop_tokens;       // accepted only as argmax
};

/// What a verifier may use besides the draft. Borrowed for the call.
struct VerifierContext {
  std::string_view prompt_text;  // the user's words so far
  /// The prompt, cached, and the draft after it; a judge asks the model on a fork(), which is
  /// without the draft, never on itself.
  const Sequence& sequence;
  Engine& engine;
  const GenerationConfig& generation;  // priority and should_stop of passes of its own
};

struct Verification {
  int64_t num_accepted = 0;        // length of the accepted prefix, in [0, D]
  int64_t num_forward_passes = 0;  // that the verifier ran itself
};

/// Decides how much of a draft survives a change of prompt (paper section 3.1).
class Verifier {
 public:
  virtual ~Verifier() = default;

  virtual Verification verify(const Draft& draft, const VerifierContext& context) = 0;
};

}  // namespace predgen
