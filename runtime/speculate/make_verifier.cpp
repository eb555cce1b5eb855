#include "runtime/speculate/make_verifier.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "runtime/speculate/reflection_verifier.h"
#include "runtime/speculate/verifier.h"

namespace predgen {

const std::vector<std::string>& verifier_names() {
  static const std::vector<std::string> names{"greedy", "topk", "reflection"};
  return names;
}

std::unique_ptr<Verifier> make_verifier(const VerifierConfig& config, const Tokenizer& tokenizer,
                                        SplitMode split_mode) {
  if (config.name == "greedy") return std::make_unique<GreedyVerifier>();
  if (config.name == "topk") return std::make_unique<TopKVerifier>(config.top_k);
  if (config.name == "reflection") {
    return std::make_unique<ReflectionVerifier>(tokenizer, split_mode, config.judged_sentences);
  }
  throw UserError("unknown verifier '{}': choose one of {}", config.name,
                  fmt::join(verifier_names(), ", "));
}

}  // namespace predgen
