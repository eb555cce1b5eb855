#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "runtime/engine/engine.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: D draft tokens, V vocabulary, Q tokens of a question that are run as its draft.

struct Draft {
  TokenSpan tokens;              // D >= 1 answer tokens guessed from an earlier prompt
  int64_t first_sentence = 0;    // tokens of the first sentence; beyond it only argmax is accepted
  TokenSpan stop_tokens;         // accepted only as argmax
  std::string_view prompt_text;  // the user's words so far
};

/// What the pass said about a draft.
struct DraftLogits {
  /// Row i predicts tokens[i], given the new prompt. If the verifier is not exact, what a
  /// constraint forbids has -inf.
  at::Tensor logits_DV;
  TokenIds most_likely;                  // [D] or more: at each place, of what is allowed
  std::optional<at::Tensor> reply_QV{};  // [Q+1,V], for ask()'s question, if there was time
};

/// Decides how much of a draft survives a change of prompt (paper section 3.1).
class Verifier {
 public:
  virtual ~Verifier() = default;

  /// A question to the model that runs in the same pass as the draft, on a sequence of the
  /// verifier's own; its priority and should_stop are the caller's to set. nullopt: no question.
  /// Valid until the next call. `sequence` is the conversation's, to be forked, not changed.
  virtual std::optional<EngineRequest> ask(const Draft& draft, const Sequence& sequence) = 0;

  /// Sentences of a draft with relaxed acceptance, that is, how many are worth drafting.
  virtual int64_t num_sentences() const = 0;

  /// Whether it accepts the most likely tokens and no others, so that it may get a draft in parts.
  virtual bool is_exact() const = 0;

  /// Length of the accepted prefix, in [0, D].
  virtual int64_t verify(const Draft& draft, const DraftLogits& logits) = 0;
};

/// Length of the longest prefix in which every token is the most likely one or, unless it is a stop
/// token, accepted by `also(i)`.
int64_t count_accepted(const Draft& draft, TokenSpan most_likely,
                       const std::function<bool(int64_t)>& also = {});

/// Accepts while every token is the most likely one: the text is the same as without a draft.
class GreedyVerifier : public Verifier {
 public:
  std::optional<EngineRequest> ask(const Draft&, const Sequence&) override { return {}; }
  int64_t num_sentences() const override { return 1; }
  bool is_exact() const override { return true; }
  int64_t verify(const Draft& draft, const DraftLogits& logits) override;
};

/// Accepts a token while fewer than k logits are strictly greater than its own; only within the
/// first sentence and never for stop tokens, which like everything after it must be the most
/// likely token. k = 1 differs from greedy only at exact ties.
class TopKVerifier : public Verifier {
 public:
  explicit TopKVerifier(int64_t k);
  std::optional<EngineRequest> ask(const Draft&, const Sequence&) override { return {}; }
  int64_t num_sentences() const override { return 1; }
  bool is_exact() const override { return false; }
  int64_t verify(const Draft& draft, const DraftLogits& logits) override;

 private:
  int64_t k_;
};

}  // namespace predgen
