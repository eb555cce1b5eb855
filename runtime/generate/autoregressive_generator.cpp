#include "runtime/generate/autoregressive_generator.h"

#include "runtime/generate/choices.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

GenerationResult AutoregressiveGenerator::generate(Sequence& sequence, const Guess& /*guess*/,
                                                   const GenerationConfig& config,
                                                   const TokenCallback& on_tokens) {
  GenerationResult result;
  while (has_room(sequence, config, result)) {
    const std::optional<at::Tensor> logits_1V = run_draft(engine_, sequence, {}, config, result);
    if (!logits_1V) break;
    const TokenIds next = Choices(config, *logits_1V, sequence.tokens(), {}).found({});
    if (!commit_tokens(sequence, next, config, on_tokens, result)) break;
  }
  return result;
}

}  // namespace predgen
