#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "evaluate/gpu_energy.h"
#include "evaluate/judge/judged_answer.h"
#include "evaluate/repeated_values.h"
#include "runtime/converse/turn.h"
#include "runtime/engine/engine.h"
#include "runtime/speech/audio_sink.h"
#include "text/tokenizer.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// Where a text first differs from that of plain decoding.
struct Flip {
  int64_t token = 0;  // of the answer
  double margin = 0;  // top2_margin() there
};

/// What one method did with one turn.
struct EvalRow {
  size_t turn_index = 0;
  std::string method;
  TurnResult result;
  // Sum of log-probabilities (nats) of the first sentence's tokens under the base weights, given
  // the final prompt; nothing for an empty answer.
  std::optional<double> first_sentence_logprob;
  RepeatedValues repeated_values;  // none where the set has no reference answers
  std::optional<double> joules{};  // that the GPU used in the turn, where it counts them
  // Of a method that verifies exactly and still has another text than its plain_method(): rounding
  // depends on how many tokens share a pass. Needs that method's row of the same turn.
  std::optional<Flip> flip{};
  std::optional<JudgedAnswer> judged{};  // where there is a judge (AnswerJudge)
  double draft_price = 0;                // of a pass of the draft model, in passes of the model
};

/// A turn that one method could not answer.
struct FailedTurn {
  size_t turn_index = 0;
  std::string method, error;
};

struct EvalRun {
  std::vector<EvalRow> rows;       // turn by turn, methods in the order of the configuration
  std::vector<FailedTurn> failed;  // in no method's rows, so that these stay comparable
};

/// Borrowed; they outlive the run.
struct EvalModels {
  const Tokenizer& tokenizer;
  Engine& base;
  Engine* adapted = nullptr;           // base plus adapter; for the methods that want it
  SpeechSynthesizer* voice = nullptr;  // null: no voice
  AudioSink* first_answer = nullptr;   // hears spoken_method()'s answer to the first turn
  std::stop_token stop{};
  Engine* judge = nullptr;  // base plus the judge's adapter; for the methods that want it
  Engine* draft = nullptr;  // of the draft model; likewise
  EnergyCounter energy{};   // of the device, or none
};

/// Whose answer to the first turn is kept: greedy's, else the first method's.
std::string spoken_method(const EvalConfig& config);

/// Runs every method on every turn, turn by turn, each with a fresh conversation whose history is
/// prefilled before the first word; a turn that continues another has failed where that one has.
/// `on_row` is called after each row; Interrupted if stopped.
EvalRun run_methods(const EvalConfig& config, const EvalModels& models,
                    const std::vector<EvalTurn>& turns,
                    const std::function<void(const EvalRow&)>& on_row);

}  // namespace predgen
