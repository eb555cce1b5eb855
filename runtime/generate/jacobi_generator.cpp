#include "runtime/generate/jacobi_generator.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "runtime/generate/sampler.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

JacobiGenerator::JacobiGenerator(const LanguageModel& model, int64_t window, uint64_t seed)
    : model_(model), window_(window), seed_(seed) {
  if (window < 1) throw UserError("the Jacobi block size is {}, but must be at least 1", window);
}

GenerationResult JacobiGenerator::generate(Sequence& sequence, TokenSpan guess,
                                           const GenerationConfig& config,
                                           const TokenCallback& on_tokens) {
  GenerationResult result;
  // Keyed by the place in the text, so that earlier calls do not change this one.
  Random random(seed_, "jacobi", sequence.tokens.size());
  TokenIds draft(guess.begin(), guess.end());
  while (has_room(sequence, config, result)) {
    const auto length = static_cast<int64_t>(sequence.tokens.size());
    const int64_t width = std::min({window_ - 1, config.max_new_tokens - result.num_new_tokens - 1,
                                    sequence.cache->capacity() - length});
    while (static_cast<int64_t>(draft.size()) < width) {
      draft.push_back(sequence.tokens[random.below(sequence.tokens.size())]);
    }
    const TokenSpan window = TokenSpan(draft).first(static_cast<size_t>(width));
    TokenIds choices = argmax_rows(run_pending(model_, sequence, window));
    ++result.num_forward_passes;
    const auto agreed = std::ranges::mismatch(window, choices).in1 - window.begin();
    const TokenSpan committed = TokenSpan(choices).first(static_cast<size_t>(agreed) + 1);
    if (!commit_tokens(sequence, committed, config, on_tokens, result)) break;
    // Behind the window what is left of the old guess still stands at its place.
    choices.insert(choices.end(), draft.begin() + std::min<int64_t>(width + 1, draft.size()),
                   draft.end());
    draft.assign(choices.begin() + agreed + 1, choices.end());
  }
  return result;
}

}  // namespace predgen
