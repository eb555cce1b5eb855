#include "runtime/generate/autoregressive_generator.h"

#include "runtime/generate/sequence_pass.h"

namespace predgen {

AutoregressiveGenerator::AutoregressiveGenerator(Engine& engine,
                                                 std::optional<SamplingConfig> sampling)
    : engine_(engine) {
  if (sampling) sampler_.emplace(*sampling);
}

GenerationResult AutoregressiveGenerator::generate(Sequence& sequence, TokenSpan /*guess*/,
                                                   const GenerationConfig& config,
                                                   const TokenCallback& on_tokens) {
  GenerationResult result;
  while (has_room(sequence, config, result)) {
    const std::optional<at::Tensor> logits_1V = run_draft(engine_, sequence, {}, config, result);
    if (!logits_1V) break;
    const TokenIds next = sampler_ ? TokenIds{sampler_->sample((*logits_1V)[0], sequence.tokens())}
                                   : argmax_rows(*logits_1V);
    if (!commit_tokens(sequence, next, config, on_tokens, result)) break;
  }
  return result;
}

}  // namespace predgen
