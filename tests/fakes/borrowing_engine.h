#pragma once

#include "runtime/engine/engine.h"

namespace predgen {

/// An engine on a model that the test keeps.
inline Engine borrowing_engine(const LanguageModel& model, const EngineConfig& config = {}) {
  return Engine(std::shared_ptr<const LanguageModel>(std::shared_ptr<void>(), &model), config);
}

/// A sequence of these tokens, none of them run.
inline Sequence sequence_of(Engine& engine, TokenSpan tokens, int64_t capacity) {
  Sequence sequence = engine.make_sequence(capacity);
  sequence.append(tokens);
  return sequence;
}

}  // namespace predgen
