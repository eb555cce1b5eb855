#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_config.h"
#include "model/transformer.h"
#include "runtime/price/pass_price.h"

namespace predgen::evaluate {

/// By what a run's passes count, and how that is known.
struct RunPrice {
  std::string name = "given";
  std::string basis{};              // for the report
  std::optional<PassPrice> pass{};  // nothing: the wall clock
  PassPrice draft_pass{};           // of the draft model, where there is one
};

/// wall_clock: what passes take here and now. given: the configuration's seconds. a5000: the
/// paper's card, 27 ms a pass whatever its width. rtx4090, h100: a roofline. this_machine: a line
/// through passes measured at the start.
const std::vector<std::string>& price_names();

/// What a roofline is made of, and a draft model's share of a price.
struct PricedModel {
  double bytes = 0;            // that a decoding step reads: weights, without keys and values
  double flops_per_token = 0;  // two for each weight that a token meets
};

/// A pass costs its bytes over the card's bandwidth, and each token its operations over the card's
/// dense bfloat16 peak: the two never overlap, and nothing else takes time.
PassPrice roofline(const PricedModel& model, double bytes_per_second, double flops_per_second);

/// An engine and what runs in it.
struct PricedEngine {
  Engine& engine;
  const Transformer& model;
  Quantization quantization;
};

/// The price of that name for the model and, unless null, the draft model, which costs the share of
/// the model's price that its bytes are, or what it was measured to.
RunPrice make_price(const std::string& name, const EvalConfig& config, const PricedEngine& model,
                    const PricedEngine* draft_model);

/// As results.json states it.
Json to_json(const RunPrice& price);
/// What to_json() wrote.
RunPrice run_price_from(const Json& json);

}  // namespace predgen::evaluate
