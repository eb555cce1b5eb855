#include "evaluate/eval_worker.h"

#include "checkpoint/load_model.h"
#include "core/error.h"
#include "data/past_answers.h"
#include "model/stream_priority.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/model_source.h"

namespace predgen::evaluate {
namespace {

EngineConfig engine_config(const EvalConfig& config) {
  return {.pass_tokens = config.session.pass_tokens};
}

/// UserError unless the methods use the adapter as it was trained.
void check_adapter(const EvalConfig& config, bool has_masks) {
  for (const std::string& name : config.methods) {
    const Method method = parse_method(name);
    if (!method.adapter || method.mtp == has_masks) continue;
    throw UserError("method '{}': the adapter {} {}", name, config.adapter.string(),
                    has_masks ? "counts for mask tokens alone: use mtp, or a method with +mtp"
                              : "has no mask tokens: train one with objective.kind=mtp");
  }
}

}  // namespace

std::shared_ptr<const EvalWeights> load_eval_weights(const EvalConfig& config,
                                                     const std::filesystem::path& model) {
  const c10::InferenceMode inference;
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(model);
  EvalWeights weights{.tokenizer = load_tokenizer(checkpoint->read_tokenizer(config.chat_template)),
                      .quantization = parse_quantization(config.quantize)};
  const std::string draft_model =
      any_method(config, &Method::draft_model) ? config.draft_model.string() : "";
  const bool has_mtp = draft_model == kOwnLayer;
  const auto draft = open_draft_model(draft_model, *checkpoint, weights.tokenizer.get());
  if (any_method(config, &Method::past_answers)) {
    weights.past_answers = data::read_past_answers(config.past_answers, *weights.tokenizer);
  }
  const LoadOptions load{.device = config.device,
                         .dtype = config.dtype,
                         .quantization = weights.quantization,
                         .has_mtp = has_mtp};
  const std::shared_ptr<Transformer> base = load_model(*checkpoint, {}, load);
  std::shared_ptr<Transformer> adapted;
  if (any_method(config, &Method::adapter)) {
    adapted = load_model(*checkpoint, config.adapter, load);
    check_adapter(config, !adapted->mask_tokens().empty());
  }
  if (has_mtp) weights.draft = base->mtp();
  if (draft) {
    LoadOptions load_draft = load;
    load_draft.guesses_for = base.get();
    const std::shared_ptr<Transformer> drafter = load_model(*draft, {}, load_draft);
    if (adapted && drafter->config().assistant) drafter->guess_for(*adapted, draft->name());
    weights.draft = drafter;
  }
  weights.base = base;
  weights.adapted = adapted;
  return std::make_shared<const EvalWeights>(std::move(weights));
}

RunCost cost_of(const std::string& name, const EvalConfig& config, const EvalWeights& weights) {
  Engine engine(weights.base, engine_config(config));
  const CostedEngine model{engine, *weights.base, weights.quantization};
  if (!weights.draft) return make_cost(name, config, model, nullptr);
  Engine draft_engine(weights.draft, engine_config(config));
  const CostedEngine draft{draft_engine, *weights.draft, weights.quantization};
  return make_cost(name, config, model, &draft);
}

EvalWorker::EvalWorker(const EvalConfig& config, std::shared_ptr<const EvalWeights> weights,
                       const RunCost& cost, const TurnSet& set, const Voice* voice,
                       AudioSink* first_answer, const std::stop_token& stop)
    : weights_(std::move(weights)),
      stream_(make_stream(weights_->base->device(), StreamPriority::kHigh)),
      set_(set),
      synthesizer_(voice ? voice->synthesizer() : nullptr),
      base_(weights_->base, engine_config(config)) {
  const auto make_engine = [&](std::optional<Engine>& engine, const auto& model) -> Engine* {
    return model ? &engine.emplace(model, engine_config(config)) : nullptr;
  };
  models_.emplace(EvalModels{.tokenizer = *weights_->tokenizer,
                             .base = base_,
                             .adapted = make_engine(adapted_, weights_->adapted),
                             .voice = synthesizer_.get(),
                             .ahead = voice ? voice->ahead_buffer() : AheadBuffer{},
                             .first_answer = first_answer,
                             .stop = stop,
                             .draft = make_engine(draft_, weights_->draft),
                             .past_answers = weights_->past_answers,
                             .tools = set.tools.empty() ? nullptr : &set.tools});
  // Several workers would count each other's joules.
  if (config.workers == 1) models_->energy = make_energy_counter(weights_->base->device());
  runner_.emplace(config, cost, *models_, set.turns.front());
}

}  // namespace predgen::evaluate
