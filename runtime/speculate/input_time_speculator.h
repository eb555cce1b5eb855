#pragma once

#include <functional>

#include "model/tokenizer.h"
#include "runtime/generate/generator.h"
#include "runtime/speculate/verifier.h"

namespace predgen {

struct SpeculationStep {
  int64_t num_reused = 0;          // prompt positions whose cache survived
  int64_t num_drafted = 0;         // answer tokens offered to the verifier
  int64_t num_accepted = 0;        // answer tokens it kept
  int64_t num_forward_passes = 0;  // prefill chunks, verification and generation
  GenerationResult generation;
};

/// Answers a prompt that is still being spoken (Algorithm 1 of arXiv 2506.15556). Each update
/// keeps what it can of the last answer. Used by one thread.
class InputTimeSpeculator {
 public:
  /// Borrows its collaborators: they outlive it. `first_sentence_length` counts the tokens of an
  /// answer's first sentence, all of them when it is not finished.
  InputTimeSpeculator(const LanguageModel& model, Verifier& verifier, Generator& generator,
                      std::function<int64_t(TokenSpan answer)> first_sentence_length,
                      int64_t cache_capacity);

  /// Replaces the prompt, verifies the current answer against it in one pass together with the
  /// prompt's new tokens, then extends the answer. The same prompt ids again cost no pass.
  /// `on_tokens` first gets the accepted tokens with the token that the same pass adds, then the
  /// new ones; returning false stops between two passes and keeps what is there.
  /// UserError if the prompt does not fit into the model.
  SpeculationStep update(TokenSpan prompt, std::string_view prompt_text,
                         const GenerationConfig& config, const TokenCallback& on_tokens);

  /// Runs the prompt without answering it (`prefill` method, history before a turn).
  int64_t prefill(TokenSpan prompt);

  /// The answer so far, stop token included. Valid until the next call.
  TokenSpan answer() const;

  /// Forgets the answer, keeps the cached prompt: the next turn starts.
  void reset_answer();
};

}  // namespace predgen
