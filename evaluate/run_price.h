#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_config.h"
#include "model/transformer.h"
#include "runtime/price/pass_prices.h"

namespace predgen::evaluate {

/// What a run's passes cost, and how that is known.
struct RunPrice {
  std::string name = "given";
  std::string basis{};  // for the report
  PassPrices prices{};  // as given; unknown: by the wall clock
};

/// wall_clock: the time that passes take here and now. given: the configuration's seconds. a5000:
/// the paper's card, 27 ms a pass whatever its width. A card's name: its roofline. this_machine: a
/// line through passes measured at the start.
const std::vector<std::string>& price_names();

/// An engine and what runs in it.
struct PricedEngine {
  Engine& engine;
  const Transformer& model;
  Quantization quantization;
};

/// The price called `name` for the model and, unless null, the draft model, which costs its share
/// by bytes of the model's price, or as measured.
RunPrice make_price(const std::string& name, const EvalConfig& config, const PricedEngine& model,
                    const PricedEngine* draft_model);

/// As results.json states it.
Json to_json(const RunPrice& price);
/// What to_json() wrote.
RunPrice run_price_from(const Json& json);

}  // namespace predgen::evaluate
