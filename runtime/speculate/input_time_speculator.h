#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "runtime/generate/generator.h"
#include "runtime/speculate/verifier.h"
#include "text/tokenizer.h"

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
  /// `max_added`: how many tokens the answer may grow beyond the accepted ones, at least 1.
  /// UserError if the prompt is longer than context_length().
  SpeculationStep update(TokenSpan prompt, std::string_view prompt_text,
                         const GenerationConfig& config, const TokenCallback& on_tokens,
                         int64_t max_added = std::numeric_limits<int64_t>::max());

  /// Runs the prompt without answering it (`prefill` method, history before a turn).
  int64_t prefill(TokenSpan prompt);

  /// The answer so far, stop token included. Valid until the next call.
  TokenSpan answer() const;

  /// Forgets the answer, keeps what is cached: the next turn starts. The answer's own tokens stay
  /// cached too, as a history that holds them will want.
  void reset_answer();

  /// Tokens that prompt and answer may have together.
  int64_t context_length() const { return sequence_.cache->capacity(); }

  /// Passes run so far; inside `on_tokens` it counts the pass that gave the tokens.
  int64_t num_forward_passes() const { return num_forward_passes_; }

 private:
  bool is_current(TokenSpan prompt) const;
  /// Keeps the cached ids that `prompt` shares; the rest of it is pending then. Drops the answer.
  int64_t replace_prompt(TokenSpan prompt);
  /// The answer to an unchanged prompt, without a pass.
  void reuse(const GenerationConfig& config, SpeculationStep& step);
  /// The answer to a changed prompt as far as one pass gives it; returns a guess at what follows.
  TokenIds verify(TokenSpan prompt, std::string_view prompt_text, const GenerationConfig& config,
                  SpeculationStep& step);
  void leave_last_pending();

  const LanguageModel& model_;
  Verifier& verifier_;
  Generator& generator_;
  std::function<int64_t(TokenSpan)> first_sentence_length_;

  Sequence sequence_;  // prompt and answer; before the first update no tokens
  size_t prompt_length_ = 0;
  bool verified_ = true;               // false: the pass that should check the answer failed
  std::optional<TokenId> saved_next_;  // follows a prompt that is cached whole and unanswered
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
