#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/draft_width.h"
#include "runtime/generate/generator.h"
#include "runtime/speculate/branches.h"
#include "runtime/speculate/verifier.h"

namespace predgen {

struct SpeculationConfig {
  /// Answers that one pass verifies as a tree: the last one, by the verifier's rule, and earlier
  /// ones of the turn, as far as the model agrees exactly. 1: the last one alone.
  int64_t num_candidates = 1;
  /// Tokens of that tree; the last answer is in it whole.
  int64_t tree_tokens = 64;
  /// Tree tokens that the last answer does not have, and masks; a Session limits them by the cost
  /// of a pass.
  int64_t other_tokens = std::numeric_limits<int64_t>::max();
  /// How many other answers branch() makes at a time.
  int64_t num_branches = 0;
  /// None of these if tokens beside the last answer make a pass much more expensive; a Session asks
  /// the costs.
  bool only_if_cheap = false;
  /// Where more tokens make a pass longer, by `costs`, an exact verifier gets the last answer in
  /// parts, one pass each, until one is wrong.
  bool in_parts = false;
  PassCosts costs{};  // a Session sets its generator's

  /// UserError naming the value that is out of range.
  void validate() const;
};

struct SpeculationStep {
  int64_t num_reused = 0;    // prompt positions whose cache survived
  int64_t num_drafted = 0;   // answer tokens offered to the verifier or outside the constraint
  int64_t num_agreed = 0;    // those that it kept
  int64_t num_accepted = 0;  // answer tokens kept, those of other candidates too
  int64_t num_forward_passes = 0;  // of the prompt, the verifier and the generator
  GenerationResult generation;
};

/// The prompt alone has more tokens than the context holds.
class PromptTooLong : public UserError {
 public:
  using UserError::UserError;
};

struct SpeculationLimits {
  /// How many tokens the answer may grow beyond the accepted ones, at least 1.
  int64_t max_added = std::numeric_limits<int64_t>::max();
  /// Tokens of the present answer that belong to its first sentence.
  int64_t first_sentence = std::numeric_limits<int64_t>::max();
};

/// A prompt and its answer that were set aside, to be gone on with.
struct SetAside {
  TokenIds prompt{}, answer{}, rest{};  // rest: of a draft, behind the answer; not verified
  bool is_verified = false;             // the answer, against the prompt
  std::vector<TokenIds> candidates{};   // the newest first
};

/// Is given the model's prediction after the first `num_tokens` of a prompt by the pass that runs
/// the last of them; not called if an earlier pass ran it.
struct PromptReader {
  int64_t num_tokens = 0;
  std::function<void(const at::Tensor& logits_V)> read{};  // empty: not wanted
};

/// Answers a prompt that is still being spoken (Algorithm 1 of arXiv 2506.15556). Each update
/// keeps what it can of the last answer. Used by one thread.
class InputTimeSpeculator {
 public:
  /// Borrows its collaborators: they outlive it, or their successors given to use().
  InputTimeSpeculator(Engine& engine, Verifier& verifier, Generator& generator, int64_t capacity,
                      const SpeculationConfig& config = {});

  /// Replaces both from the next update on.
  void use(Verifier& verifier, Generator& generator) {
    verifier_ = &verifier;
    generator_ = &generator;
  }
  const Verifier& verifier() const { return *verifier_; }

  /// Replaces the prompt, verifies the current answer against it in one pass together with the
  /// prompt's new tokens (a long prompt takes several), then extends the answer. The same prompt
  /// ids again cost no pass.
  /// `on_tokens` first gets the accepted tokens with the token that the same pass adds, then, with
  /// SpeculationConfig::in_parts, those of later parts, then the new ones; returning false stops
  /// between two passes and keeps what is there, an unverified rest of the answer, too. Where
  /// `config.should_stop` ends the passes of a long prompt, the step is cancelled without a token,
  /// and the answer waits for the next update to verify it.
  /// With a sampler only what it draws again is kept, whatever the verifier. With a constraint, the
  /// verifier gets what it allows of the answer; the pass runs what it forces after that, too.
  /// `reader` is called before `on_tokens`.
  /// PromptTooLong if `prompt` exceeds context_length(). If this throws, the answer waits, too.
  SpeculationStep update(TokenSpan prompt, std::string_view prompt_text, GenerationConfig config,
                         const TokenCallback& on_tokens, const SpeculationLimits& limits = {},
                         const PromptReader& reader = {});

  /// For idle time: makes other answers to the current prompt (Branches), which the next update
  /// verifies as candidates, or continues them after `config.should_stop` has ended an earlier
  /// call. Returns the number of new tokens. Does nothing if they are done already or the answer is
  /// not verified.
  int64_t branch(GenerationConfig config, const FollowAnswer& follow);

  /// Runs the prompt without answering it (`prefill` method, history before a turn). Returns the
  /// passes; fewer tokens are cached if `config.should_stop` says so.
  int64_t prefill(TokenSpan prompt, const GenerationConfig& config = {});

  /// The answer so far, stop token included. Valid until the next call.
  TokenSpan answer() const { return sequence_.tokens().subspan(prompt_length_); }

  /// Whether there is something for the next update to verify.
  bool has_draft() const { return !answer().empty() || !rest_.empty(); }

  /// Within `on_tokens`: whether more of the last answer is to be verified.
  bool is_verifying() const { return !rest_.empty(); }

  /// Goes on with the answer of `other`, which the update() to `prompt` verifies, or takes as it is
  /// if it was verified against these ids: no pass. Returns the one of now. The cache keeps what
  /// the next prompt shares with the last one.
  SetAside exchange(SetAside other, TokenSpan prompt);

  /// Forgets the answer, keeps the cache: the next turn starts. The answer's own tokens stay cached
  /// too, for a history that holds them.
  void reset_answer();

  /// Forgets everything after the first `num_tokens` tokens: undoes a turn that failed.
  void roll_back(int64_t num_tokens) {
    sequence_.truncate(std::min(num_tokens, sequence_.size()));
    prompt_length_ = sequence_.tokens().size();
    reset_answer();
  }
  /// Tokens of prompt and answer.
  int64_t num_tokens() const { return sequence_.size(); }
  /// They, and what is cached of them. Valid until the next call.
  const Sequence& sequence() const { return sequence_; }
  /// Forgets prompt and answer: the next prompt finds cached what this sequence has of it.
  void go_on_from(Sequence sequence) {
    reset_answer();
    sequence_ = std::move(sequence);
    prompt_length_ = sequence_.tokens().size();
  }

  const SpeculationConfig& config() const { return config_; }
  /// Tokens that prompt and answer may have together.
  int64_t context_length() const { return sequence_.capacity(); }

  /// Passes so far that included its own requests, however many others share the engine; inside
  /// `on_tokens` it counts the pass that gave the tokens.
  int64_t num_forward_passes() const { return num_forward_passes_; }

 private:
  bool is_current(TokenSpan prompt) const;
  /// Keeps the cached ids that `prompt` shares; the rest of it is pending then. Drops the answer.
  int64_t replace_prompt(TokenSpan prompt);
  /// The answer to an unchanged prompt, without a pass.
  void reuse(const GenerationConfig& config, SpeculationStep& step);
  /// The answer to a changed prompt as far as one verification gives it. Returns a guess at what
  /// follows; nullopt if stopped.
  std::optional<TokenIds> verify(TokenSpan prompt, std::string_view prompt_text,
                                 const GenerationConfig& config, const SpeculationLimits& limits,
                                 const PromptReader& reader, SpeculationStep& step);
  /// Verifies the next part of rest_; returns what the answer has got by it, nullopt if stopped.
  std::optional<TokenIds> verify_part(const GenerationConfig& config, SpeculationStep& step,
                                      TokenIds& guess);
  /// What one pass verifies of `draft`.
  TokenSpan next_part(TokenSpan draft, int64_t max_tokens) const {
    return draft.first(
        static_cast<size_t>(std::min({std::ssize(draft), width_->best(), max_tokens})));
  }
  /// Extends the answer by `num_kept` tokens that a pass has verified and the one after them, if
  /// there may be one. `draft`: what was unverified before that pass.
  void extend(TokenIds found, int64_t num_kept, TokenSpan draft, const GenerationConfig& config,
              SpeculationStep& step);
  /// The logits of the pending tokens and the draft and, in the same passes, of a question.
  std::vector<std::optional<at::Tensor>> run(const EngineRequest& draft,
                                             std::optional<EngineRequest> question,
                                             const GenerationConfig& config);

  Engine& engine_;
  const SpeculationConfig config_;
  Verifier* verifier_;
  Generator* generator_;

  Sequence sequence_;  // prompt and answer; before the first update no tokens
  size_t prompt_length_ = 0;
  bool verified_ = true;             // false: the pass to check the answer did not finish
  std::optional<DraftWidth> width_;  // of a part of a draft; nullopt: whole drafts
  TokenIds rest_;                    // of a draft that the answer has followed so far; not verified
  Branches branches_;                // of this prompt
  CandidatePool candidates_;
  std::optional<at::Tensor> saved_logits_1V_;  // of a prompt that is fully cached and unanswered
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
