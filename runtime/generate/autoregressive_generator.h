#pragma once

#include "runtime/generate/generator.h"

namespace predgen {

/// One token per pass, and those before it that a constraint forces.
class AutoregressiveGenerator : public Generator {
 public:
  /// Borrows the engine.
  explicit AutoregressiveGenerator(Engine& engine) : engine_(engine) {}

  GenerationResult generate(Sequence& sequence, const Guess& guess, const GenerationConfig& config,
                            const TokenCallback& on_tokens) override;
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  Engine& engine_;
};

}  // namespace predgen
