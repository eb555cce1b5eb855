#pragma once

#include <optional>

#include "runtime/generate/generator.h"
#include "runtime/generate/sampler.h"

namespace predgen {

/// One token a pass: the most likely one, or a drawn one if a sampler was given.
class AutoregressiveGenerator : public Generator {
 public:
  /// Borrows the engine.
  explicit AutoregressiveGenerator(Engine& engine, std::optional<SamplingConfig> sampling = {});

  GenerationResult generate(Sequence& sequence, TokenSpan guess, const GenerationConfig& config,
                            const TokenCallback& on_tokens) override;

 private:
  Engine& engine_;
  std::optional<Sampler> sampler_;
};

}  // namespace predgen
