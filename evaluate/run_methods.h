#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "audio/audio_sink.h"
#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "evaluate/gpu_energy.h"
#include "evaluate/repeated_values.h"
#include "evaluate/run_cost.h"
#include "evaluate/tool_turns.h"
#include "runtime/converse/tool_rounds.h"
#include "runtime/converse/turn.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/make_generator.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tokenizer.h"
#include "voice/voice.h"

namespace predgen::evaluate {

/// Where a text first differs from that of plain decoding.
struct Flip {
  int64_t token = 0;  // of the answer
  double margin = 0;  // top2_margin() there
};

/// What one method did with one turn.
struct EvalRow {
  size_t turn_index = 0;
  std::string method{};
  TurnResult result{};
  // Sum of log-probabilities (nats) of the first sentence's tokens under the base weights, given
  // the final prompt; nullopt for an empty answer.
  std::optional<double> first_sentence_logprob{};
  RepeatedValues repeated_values{};  // none if the set has no reference answers
  std::optional<double> joules{};    // that the GPU used in the turn, if it counts them
  // For a method that verifies exactly but whose text still differs from its plain_method()'s, for
  // the same prompt: rounding depends on how many tokens share a pass. Needs that method's row.
  std::optional<Flip> flip{};
  double draft_cost = 0;         // of a pass of the draft model, in passes of the model
  std::optional<double> ttft{};  // seconds from the final transcript to the first confirmed text
  Seconds start{0};              // when the user began, on the clock of the result's events
  double end_of_turn_wait = 0;   // seconds from the last word to the final transcript
  bool has_voice = false;        // the end of the voice is known, and not after the turn's
  std::optional<ToolOutcome> tools{};  // of a set with tools
};

/// A turn that one method could not answer.
struct FailedTurn {
  size_t turn_index = 0;
  std::string method, error;
};

struct EvalRun {
  std::vector<EvalRow> rows;       // turn by turn, methods in the order of the configuration
  std::vector<FailedTurn> failed;  // left out of all methods' rows, to keep them comparable
};

/// Borrowed; they outlive the run.
struct EvalModels {
  const Tokenizer& tokenizer;
  Engine& base;
  Engine* adapted = nullptr;           // base plus adapter; for the methods that need it
  SpeechSynthesizer* voice = nullptr;  // null: no voice
  AheadBuffer ahead{};                 // the voice's
  AudioSink* first_answer = nullptr;   // gets spoken_method()'s answer to the first turn
  std::stop_token stop{};
  Engine* draft = nullptr;  // of the draft model; for the methods that need it
  EnergyCounter energy{};   // of the device, or none
  std::shared_ptr<const AnswerStore> past_answers{};  // for the methods that need them
  const std::vector<SimulatedTool>* tools = nullptr;  // that may be called; null: none
};

/// The method whose answer to the first turn is kept: greedy, else the first one.
std::string spoken_method(const EvalConfig& config);

/// Where the conversations of a set begin (a turn with those that continue it), followed by the
/// number of turns.
std::vector<size_t> conversation_bounds(const std::vector<EvalTurn>& turns);

/// Runs every method on one conversation after another; used by one thread. Borrows everything.
class MethodRunner {
 public:
  /// With the wall clock each method answers `warm_up` once: the first passes of a process are
  /// slow, and no method should pay for that.
  MethodRunner(const EvalConfig& config, const RunCost& cost, const EvalModels& models,
               const EvalTurn& warm_up);

  /// The conversation of turns [begin, end), turn by turn, each with a fresh session whose history
  /// is prefilled before the first word; a turn that continues a failed one fails too. With tools a
  /// method keeps its session, which has read them, and forgets the history. Interrupted if
  /// stopped.
  EvalRun run(const std::vector<EvalTurn>& turns, size_t begin, size_t end);

  ~MethodRunner();

 private:
  /// A method's session, on a clock of its own.
  struct Stage;
  std::unique_ptr<Stage> make_stage(const EvalTurn& turn, const Method& method);
  /// By the method of this number. `pauses`: of the earlier turns; this turn is added.
  EvalRow run_row(const EvalTurn& turn, size_t number, AudioSink* sink, PauseHistory& pauses);

  const EvalConfig& config_;
  const RunCost& cost_;
  const EvalModels& models_;
  std::vector<Method> methods_;
  GeneratorConfig costed_;  // with pass costs
  std::optional<GrammarCompiler> grammars_;
  ToolRounds::FormOf form_of_;  // of methods with a grammar
  int64_t capacity_ = 0;        // tokens for any turn of a set with tools; 0: not known
  std::vector<std::unique_ptr<Stage>> stages_;  // of each method; null: none is kept
};

}  // namespace predgen::evaluate
