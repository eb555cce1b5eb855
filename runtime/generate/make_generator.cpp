#include "runtime/generate/make_generator.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "runtime/cost/engine_costs.h"
#include "runtime/generate/assistant_source.h"
#include "runtime/generate/draft_source.h"
#include "runtime/generate/drafting_generator.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/model_source.h"
#include "runtime/generate/mtp_source.h"

namespace predgen {

const std::vector<std::string>& generator_names() {
  static const std::vector<std::string> names{"ar", "jacobi"};
  return names;
}

Setting decoder_setting(std::string& name) {
  return {"decoder", name, generator_names(), "ar, or jacobi for a consistency model"};
}

Setting max_new_tokens_setting(int64_t& tokens) {
  return {"max_new_tokens", tokens, at_least(1), "tokens of one answer"};
}

const std::vector<std::string>& draft_source_names() {
  static const std::vector<std::string> names{"ngram", "past_answers", "model", kOwnLayer};
  return names;
}

const char* draft_source_of(const Engine& draft_model) {
  const bool is_own = draft_model.model().gives_hidden() && !AssistantSource::can_use(draft_model);
  return is_own ? kOwnLayer : "model";
}

namespace {

/// Tokens that a pass of any generator checks at most.
int64_t widest(const GeneratorConfig& config) {
  return std::max(config.draft_width, config.block_size - 1);
}

/// Whether this draft source runs GeneratorConfig::draft_model.
bool is_draft_model(const std::string& name) { return name == "model" || name == kOwnLayer; }

std::unique_ptr<DraftSource> make_draft_source(const std::string& name,
                                               const GeneratorConfig& config,
                                               const Engine& engine) {
  if (name == "ngram") return std::make_unique<NgramSource>();
  if (name == "past_answers") {
    if (!config.past_answers) throw UserError("the draft source 'past_answers' needs some");
    return std::make_unique<AnswerSource>(config.past_answers);
  }
  if (is_draft_model(name)) {
    if (!config.draft_model) throw UserError("the draft source '{}' needs a draft model", name);
    const DraftWidth width(
        config.draft_width,
        {.costs = config.costs, .is_by_model = true, .reruns = engine.reruns_drafts()});
    if (name == kOwnLayer) return std::make_unique<MtpSource>(*config.draft_model, width);
    if (AssistantSource::can_use(*config.draft_model)) {
      return std::make_unique<AssistantSource>(*config.draft_model, width);
    }
    return std::make_unique<ModelSource>(*config.draft_model, engine.model().vocab_size(), width);
  }
  throw UserError("unknown draft source '{}': choose from {}", name,
                  fmt::join(draft_source_names(), ", "));
}

DraftingGenerator::Masks make_masks(const GeneratorConfig& config, const Engine& engine) {
  const TokenSpan tokens = engine.model().mask_tokens();
  const int64_t count = std::ssize(tokens);
  // Without sources, what masks can fill.
  const int64_t width = config.sources.empty() ? std::min(config.draft_width, count * (count + 2))
                                               : config.draft_width;
  return {
      .tokens = TokenIds(tokens.begin(), tokens.end()),
      .width = DraftWidth(
          width, {.costs = config.costs, .num_masks = count, .reruns = engine.reruns_drafts()})};
}

}  // namespace

void measure_costs(GeneratorConfig& config, Engine& engine) {
  config.costs = measure_costs(engine, widest(config));
  if (config.draft_model) {
    config.costs = config.costs.with_draft_model(measure_costs(*config.draft_model, 0));
  }
}

std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine) {
  std::vector<std::unique_ptr<DraftSource>> sources;
  for (const std::string& name : config.sources) {
    sources.push_back(make_draft_source(name, config, engine));
  }
  const TokenSpan mask_tokens = engine.model().mask_tokens();
  if (config.name == "jacobi" && !mask_tokens.empty()) {
    throw UserError(
        "the decoder 'jacobi' does not go with the mask tokens of an adapter: choose the decoder "
        "'ar', which uses them");
  }
  if (config.name == "jacobi") {
    return std::make_unique<JacobiGenerator>(engine, config.block_size, config.seed,
                                             std::move(sources), config.costs);
  }
  const bool has_masks = config.uses_masks && !mask_tokens.empty();
  if (config.name == "ar" && (!sources.empty() || has_masks)) {
    const bool has_model = std::ranges::any_of(config.sources, is_draft_model);
    return std::make_unique<DraftingGenerator>(
        engine, std::move(sources),
        DraftWidth(config.draft_width, {.costs = config.costs, .reruns = engine.reruns_drafts()}),
        /*refines=*/!has_model,
        has_masks ? std::optional(make_masks(config, engine)) : std::nullopt);
  }
  if (config.name == "ar") return std::make_unique<AutoregressiveGenerator>(engine);
  throw UserError("unknown decoder '{}': choose one of {}", config.name,
                  fmt::join(generator_names(), ", "));
}

}  // namespace predgen
