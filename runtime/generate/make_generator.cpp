#include "runtime/generate/make_generator.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "runtime/generate/autoregressive_generator.h"
#include "runtime/generate/drafting_generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/model_source.h"
#include "runtime/generate/ngram_source.h"
#include "runtime/price/pass_seconds.h"

namespace predgen {

const std::vector<std::string>& generator_names() {
  static const std::vector<std::string> names{"ar", "jacobi"};
  return names;
}

const std::vector<std::string>& draft_source_names() {
  static const std::vector<std::string> names{"ngram", "model"};
  return names;
}

namespace {

/// Tokens that a pass of any generator checks at most.
int64_t widest(const GeneratorConfig& config) {
  return std::max(config.draft_width, config.block_size - 1);
}

/// GeneratorConfig::pass_seconds of passes that check `widest` tokens at most.
std::vector<double> pass_seconds(const GeneratorConfig& config, int64_t widest) {
  const auto end = std::min(std::ssize(config.pass_seconds), std::max<int64_t>(widest, 0) + 1);
  return {config.pass_seconds.begin(), config.pass_seconds.begin() + end};
}

/// Each token of a draft costs a pass of the draft model, and a wider pass of the model.
DraftWidth model_width(const GeneratorConfig& config) {
  std::vector<double> prices = pass_seconds(config, config.draft_width);
  if (prices.empty())
    prices.assign(static_cast<size_t>(std::max<int64_t>(config.draft_width, 0)) + 1, 1);
  const double draft_pass = config.draft_price * prices.front();
  for (size_t width = 0; width < prices.size(); ++width) {
    prices[width] += draft_pass * static_cast<double>(width);
  }
  return DraftWidth(config.draft_width, std::move(prices));
}

std::unique_ptr<DraftSource> make_draft_source(const std::string& name,
                                               const GeneratorConfig& config,
                                               const Engine& engine) {
  if (name == "ngram") return std::make_unique<NgramSource>();
  if (name == "model") {
    if (!config.draft_model) throw UserError("the draft source 'model' needs a draft model");
    return std::make_unique<ModelSource>(*config.draft_model, engine.model().vocab_size(),
                                         model_width(config));
  }
  throw UserError("unknown draft source '{}': choose from {}", name,
                  fmt::join(draft_source_names(), ", "));
}

}  // namespace

void measure_prices(GeneratorConfig& config, Engine& engine) {
  config.pass_seconds = measure_pass_seconds(engine, widest(config));
  if (!config.draft_model) return;
  config.draft_price =
      measure_pass_seconds(*config.draft_model, 0).front() / config.pass_seconds.front();
}

void set_prices(GeneratorConfig& config, const PassPrice& pass, const PassPrice& draft_pass) {
  config.pass_seconds.clear();
  // Where a token more costs nothing, the widest draft is the best, however seldom it is right.
  if (pass.per_token > Seconds(0)) {
    for (int64_t width = 0; width <= widest(config); ++width) {
      config.pass_seconds.push_back(pass.of(1 + width).count());
    }
  }
  if (pass.of(1) > Seconds(0)) config.draft_price = draft_pass.of(1) / pass.of(1);
}

std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine) {
  std::vector<std::unique_ptr<DraftSource>> sources;
  for (const std::string& name : config.sources) {
    sources.push_back(make_draft_source(name, config, engine));
  }
  if (config.name == "jacobi") {
    return std::make_unique<JacobiGenerator>(
        engine, config.block_size, config.seed, std::move(sources),
        pass_seconds(config, std::max<int64_t>(config.block_size - 1, 1)));
  }
  if (config.name == "ar" && !sources.empty()) {
    const bool has_model = std::ranges::count(config.sources, "model") > 0;
    return std::make_unique<DraftingGenerator>(
        engine, std::move(sources),
        DraftWidth(config.draft_width, pass_seconds(config, config.draft_width)),
        /*refines=*/!has_model);
  }
  if (config.name == "ar") return std::make_unique<AutoregressiveGenerator>(engine);
  throw UserError("unknown decoder '{}': choose one of {}", config.name,
                  fmt::join(generator_names(), ", "));
}

}  // namespace predgen
