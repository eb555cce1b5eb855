#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/converse/turn.h"
#include "runtime/converse/turn_pace.h"
#include "runtime/converse/words_end.h"
#include "runtime/engine/engine_lock.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/token_constraint.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/make_verifier.h"

namespace predgen {

/// What an answer to these words of the user is held to, more of which may come; null: what every
/// answer is. Called while the engine is given up.
using ConstraintFor = std::function<std::shared_ptr<const TokenConstraint>(const std::string& words,
                                                                           bool is_behind_results)>;

struct SessionConfig {
  TurnConfig turn{};
  VerifierConfig verifier{};
  GeneratorConfig generator{};
  SpeculationConfig speculation{};
  std::optional<SamplingConfig> sampling{};  // only with the greedy verifier; nullopt: greedy
  std::shared_ptr<const TokenConstraint> constraint{};      // of every answer; null: none
  std::shared_ptr<const TokenConstraint> behind_results{};  // of functions; null: the same
  ConstraintFor constraint_for{};                           // null: those two
  uint64_t first_turn = 0;                          // its number: each turn has draws of its own
  std::string system_prompt{};                      // its text; empty: none
  ToolSet tools{};                                  // functions that the model may call
  bool thinks = false;                              // a model whose template lets one choose
  std::shared_ptr<const EndReadout> end_readout{};  // for TurnObserver::on_end_by_words; null: none
  PauseHistory pauses{};       // of the turns before the first, for TurnConfig::waits_for_pauses
  int64_t max_context = 8192;  // tokens of prompt and answer; the model may have fewer positions
  /// The engine's, given up while the session renders a conversation or waits for sound; null: it
  /// is kept. Borrowed.
  EngineLock* rests = nullptr;

  /// Whether the cost of the model's passes (measure_costs()) changes anything.
  bool wants_costs(const LanguageModel& model) const {
    return generator.name == "jacobi" || !generator.sources.empty() ||
           !model.mask_tokens().empty() || speculation.num_candidates > 1;
  }
};

}  // namespace predgen
