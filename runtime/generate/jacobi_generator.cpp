#include "runtime/generate/jacobi_generator.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/generate/jacobi_draft.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

namespace {

// Between the rates of right guesses of untrained and trained models.
constexpr double kFirstRate = 1.0 / 3;

int64_t checked_by(int64_t window) {
  if (window < 1) throw UserError("the Jacobi block size is {}, but must be at least 1", window);
  return std::max<int64_t>(window - 1, 1);
}

}  // namespace

JacobiGenerator::JacobiGenerator(Engine& engine, int64_t window, uint64_t seed,
                                 std::vector<std::unique_ptr<DraftSource>> sources,
                                 const PassCosts& costs)
    : engine_(engine),
      window_(window),
      width_(checked_by(window),
             {.costs = costs, .first_rate = kFirstRate, .reruns = engine.reruns_drafts()}),
      seed_(seed),
      sources_(std::move(sources)) {}

GenerationResult JacobiGenerator::generate(Sequence& sequence, const Guess& guess,
                                           const GenerationConfig& config,
                                           const TokenCallback& on_tokens) {
  GenerationResult result;
  // Keyed by the place in the text, so that earlier calls do not change this one.
  JacobiDraft draft(window_, guess.next, Random(seed_, "jacobi", sequence.tokens().size()));
  bool stopped = false;
  const TokenTree none;
  const auto refill = [&](TokenSpan tokens, int64_t max_tokens) {
    for (const auto& source : sources_) {
      const auto paths = source->propose(tokens, guess.drafts, config, {none, max_tokens});
      stopped = !paths;
      if (stopped) break;
      if (!paths->empty()) return paths->front();
    }
    return TokenIds();
  };
  while (has_room(sequence, config, result)) {
    const int64_t left = config.max_new_tokens - result.num_new_tokens;
    const TokenSpan window = draft.next(sequence, config, left, refill, width_.best());
    if (stopped) {
      result.stop_reason = StopReason::kCancelled;
      break;
    }
    const std::optional<at::Tensor> logits = run_draft(engine_, sequence, window, config, result);
    if (!logits) break;
    const TokenIds found = draft.take(config, *logits, sequence.tokens());
    width_.record(draft.num_guessed(), std::min(draft.num_guessed(), std::ssize(found) - 1));
    if (!commit_tokens(sequence, found, config, on_tokens, result)) break;
  }
  return result;
}

void JacobiGenerator::prefill(TokenSpan tokens) {
  for (const auto& source : sources_) source->prefill(tokens);
}

}  // namespace predgen
