#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "model/language_model.h"
#include "runtime/converse/turn.h"
#include "runtime/speech/audio_sink.h"
#include "text/tokenizer.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// What one method did with one turn.
struct EvalRow {
  size_t turn_index = 0;
  std::string method;
  TurnResult result;
  // Sum of log-probabilities (nats) of the first sentence's tokens under the base weights, given
  // the final prompt; nothing for an empty answer.
  std::optional<double> first_sentence_logprob;
};

/// Borrowed; they outlive the run.
struct EvalModels {
  const Tokenizer& tokenizer;
  const LanguageModel& base;
  const LanguageModel* adapted = nullptr;  // base plus adapter; for the methods that want it
  SpeechSynthesizer* voice = nullptr;      // null: no voice
  AudioSink* first_answer = nullptr;       // hears spoken_method()'s answer to the first turn
};

/// Whose answer to the first turn is kept: greedy's, else the first method's.
std::string spoken_method(const EvalConfig& config);

/// Runs every method on every turn, turn by turn, each with a fresh conversation whose history is
/// prefilled before the first word. `on_row` is called after each row. After a stop it
/// throws Interrupted.
std::vector<EvalRow> run_methods(const EvalConfig& config, const EvalModels& models,
                                 const std::vector<EvalTurn>& turns,
                                 const std::function<void(const EvalRow&)>& on_row,
                                 const std::stop_token& stop);

}  // namespace predgen
