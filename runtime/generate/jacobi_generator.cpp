#include "runtime/generate/jacobi_generator.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "runtime/generate/sampler.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

JacobiGenerator::JacobiGenerator(Engine& engine, int64_t window, uint64_t seed)
    : engine_(engine), window_(window), seed_(seed) {
  if (window < 1) throw UserError("the Jacobi block size is {}, but must be at least 1", window);
}

GenerationResult JacobiGenerator::generate(Sequence& sequence, TokenSpan guess,
                                           const GenerationConfig& config,
                                           const TokenCallback& on_tokens) {
  GenerationResult result;
  // Keyed by the place in the text, so that earlier calls do not change this one.
  Random random(seed_, "jacobi", sequence.tokens().size());
  TokenIds draft(guess.begin(), guess.end());
  while (has_room(sequence, config, result)) {
    const int64_t width = std::min({window_ - 1, config.max_new_tokens - result.num_new_tokens - 1,
                                    sequence.capacity() - sequence.size()});
    while (static_cast<int64_t>(draft.size()) < width) {
      draft.push_back(sequence.tokens()[random.below(sequence.tokens().size())]);
    }
    const TokenSpan window = TokenSpan(draft).first(static_cast<size_t>(width));
    const std::optional<at::Tensor> logits = run_draft(engine_, sequence, window, config, result);
    if (!logits) break;
    TokenIds choices = argmax_rows(*logits);
    const auto agreed = std::ranges::mismatch(window, choices).in1 - window.begin();
    const TokenSpan committed = TokenSpan(choices).first(static_cast<size_t>(agreed) + 1);
    if (!commit_tokens(sequence, committed, config, on_tokens, result)) break;
    // After the window what is left of the old guess still stands at its place.
    choices.insert(choices.end(), draft.begin() + std::min<int64_t>(width + 1, draft.size()),
                   draft.end());
    draft.assign(choices.begin() + agreed + 1, choices.end());
  }
  return result;
}

}  // namespace predgen
