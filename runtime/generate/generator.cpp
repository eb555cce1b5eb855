#include "runtime/generate/generator.h"

#include "core/error.h"
#include "runtime/generate/choices.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kStopToken:
      return "stop_token";
    case StopReason::kMaxNewTokens:
      return "max_new_tokens";
    case StopReason::kCacheFull:
      return "cache_full";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kRepetition:
      return "repetition";
  }
  throw Error("unknown stop reason");
}

GenerationResult AutoregressiveGenerator::generate(Sequence& sequence, const Guess& /*guess*/,
                                                   const GenerationConfig& config,
                                                   const TokenCallback& on_tokens) {
  GenerationResult result;
  while (has_room(sequence, config, result)) {
    TokenTree forced;
    if (config.constraint) {
      add_forced(forced, place_of(sequence.tokens(), config), sequence.capacity() - sequence.size(),
                 config.max_new_tokens - result.num_new_tokens - 1);
    }
    const std::optional<at::Tensor> logits =
        run_draft(engine_, sequence, forced.tokens(), config, result);
    if (!logits) break;
    const Choices choices(config, *logits, sequence.tokens(), forced);
    const TokenIds next =
        choices.found(forced.size() > 0 ? choices.follow() : std::vector<int64_t>());
    if (!commit_tokens(sequence, next, config, on_tokens, result)) break;
  }
  return result;
}

}  // namespace predgen
