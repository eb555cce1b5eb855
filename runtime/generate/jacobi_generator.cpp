#include "runtime/generate/jacobi_generator.h"

#include "core/error.h"
#include "runtime/generate/jacobi_draft.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

JacobiGenerator::JacobiGenerator(Engine& engine, int64_t window, uint64_t seed,
                                 std::vector<std::unique_ptr<DraftSource>> sources)
    : engine_(engine), window_(window), seed_(seed), sources_(std::move(sources)) {
  if (window < 1) throw UserError("the Jacobi block size is {}, but must be at least 1", window);
}

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
    const TokenSpan window =
        draft.next(sequence, config.max_new_tokens - result.num_new_tokens, refill);
    if (stopped) {
      result.stop_reason = StopReason::kCancelled;
      break;
    }
    const std::optional<at::Tensor> logits = run_draft(engine_, sequence, window, config, result);
    if (!logits) break;
    if (!commit_tokens(sequence, draft.take(config, *logits, sequence.tokens()), config, on_tokens,
                       result))
      break;
  }
  return result;
}

void JacobiGenerator::prefill(TokenSpan tokens) {
  for (const auto& source : sources_) source->prefill(tokens);
}

}  // namespace predgen
