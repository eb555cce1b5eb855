#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_config.h"
#include "model/transformer.h"
#include "runtime/cost/pass_costs.h"

namespace predgen::evaluate {

/// What a run's passes cost, and how that is known.
struct RunCost {
  std::string name = "given";
  std::string basis{};  // for the report
  PassCosts costs{};    // as given; unknown: by the wall clock
};

/// wall_clock: the time that passes take here and now. given: the configuration's seconds. a5000:
/// the paper's card, 27 ms a pass whatever its width. A card's name: its roofline. this_machine: a
/// line through passes measured at the start.
const std::vector<std::string>& cost_names();

/// An engine and what runs in it.
struct CostedEngine {
  Engine& engine;
  const Transformer& model;
  Quantization quantization;
};

/// The cost called `name` for the model and, unless null, the draft model, which costs its share
/// by bytes of the model's cost, or as measured.
RunCost make_cost(const std::string& name, const EvalConfig& config, const CostedEngine& model,
                  const CostedEngine* draft_model);

/// As results.json states it.
Json to_json(const RunCost& cost);
/// What to_json() wrote.
RunCost run_cost_from(const Json& json);

}  // namespace predgen::evaluate
