#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include <memory>
#include <optional>
#include <stop_token>

#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"
#include "model/transformer.h"
#include "voice/voice.h"

namespace predgen::evaluate {

/// The weights of one model of `predgen eval`. A model's passes never overlap, so each worker has
/// its own.
struct EvalWeights {
  std::unique_ptr<Tokenizer> tokenizer{};
  std::shared_ptr<const Transformer> base{};
  std::shared_ptr<const Transformer> adapted{}, draft{};  // null: no method needs it
  std::shared_ptr<const AnswerStore> past_answers{};      // null: no method needs them
  Quantization quantization = Quantization::kNone;
};

/// UserError for what the configuration's methods need and the folders lack.
std::shared_ptr<const EvalWeights> load_eval_weights(const EvalConfig& config,
                                                     const std::filesystem::path& model);

/// The RunCost called `name` for these weights.
RunCost cost_of(const std::string& name, const EvalConfig& config, const EvalWeights& weights);

/// Runs conversations on the thread that made it, and is destroyed there. Borrows arguments passed
/// by reference or pointer, but not the weights; speaks with a synthesizer of its own.
class EvalWorker {
 public:
  EvalWorker(const EvalConfig& config, std::shared_ptr<const EvalWeights> weights,
             const RunCost& cost, const TurnSet& set, const Voice* voice, AudioSink* first_answer,
             const std::stop_token& stop);
  EvalRun run(size_t begin, size_t end) { return runner_->run(set_.turns, begin, end); }

 private:
  const c10::InferenceMode inference_;
  const std::shared_ptr<const EvalWeights> weights_;
  const c10::StreamGuard stream_;
  const TurnSet& set_;
  const std::unique_ptr<SpeechSynthesizer> synthesizer_;  // null: no voice
  Engine base_;
  std::optional<Engine> adapted_, draft_;
  std::optional<EvalModels> models_;
  std::optional<MethodRunner> runner_;
};

}  // namespace predgen::evaluate
