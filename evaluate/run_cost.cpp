#include "evaluate/run_cost.h"

#include <algorithm>

#include "core/error.h"
#include "evaluate/model_speed.h"
#include "runtime/cost/engine_costs.h"
#include "runtime/cost/pass_costs.h"

namespace predgen::evaluate {
namespace {

constexpr double kPaperPass = 0.027;  // 488 ms for 17.9 passes, arXiv 2506.15556, Table 1
constexpr int64_t kMeasuredWidth = 32;

CostedModel costed_model(const CostedEngine& costed) {
  const ModelConfig& config = costed.model.config();
  double parameters = static_cast<double>(config.num_active_parameters());
  if (!config.tie_word_embeddings) {  // a token reads one row of the table
    parameters -= static_cast<double>(config.vocab_size * config.hidden_size);
  }
  return {.bytes = decode_bytes(costed.model, costed.quantization).per_token(0),
          .flops_per_token = 2 * parameters};
}

/// The line through passes over one token and kMeasuredWidth more.
PassCosts measure_line(Engine& engine) {
  const PassCosts measured = measure_costs(engine, kMeasuredWidth);
  const double one = measured.of(1).count(), all = measured.of(1 + kMeasuredWidth).count();
  const double per_token = std::max(0.0, (all - one) / static_cast<double>(kMeasuredWidth));
  return PassCosts::given(Seconds(std::max(0.0, one - per_token)), Seconds(per_token));
}

}  // namespace

const std::vector<std::string>& cost_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"wall_clock", "given", "a5000"};
    for (const Card& card : cards()) all.emplace_back(card.name);
    all.emplace_back("this_machine");
    return all;
  }();
  return names;
}

RunCost make_cost(const std::string& name, const EvalConfig& config, const CostedEngine& model,
                  const CostedEngine* draft_model) {
  RunCost cost{.name = name};
  if (name == "wall_clock") {
    cost.basis = "the wall clock of the machine that ran it";
    return cost;
  }
  if (name == "this_machine") {
    cost.basis =
        fmt::format("passes over 1 and {} tokens, measured at the start", 1 + kMeasuredWidth);
    cost.costs = measure_line(model.engine);
    if (draft_model) {
      cost.costs = cost.costs.with_draft_model(measure_line(draft_model->engine));
    }
    return cost;
  }
  if (name == "given") {
    cost.basis = "the configuration";
    cost.costs =
        PassCosts::given(Seconds(config.seconds_per_pass), Seconds(config.seconds_per_token));
  } else if (name == "a5000") {
    cost.basis = "the paper's RTX A5000 with a 7B model, whatever the width of a pass";
    cost.costs = PassCosts::given(Seconds(kPaperPass));
  }
  for (const Card& card : cards()) {
    if (name != card.name) continue;
    const double parameters = config.cost_parameters;
    const CostedModel costed =
        parameters > 0 ? CostedModel{2 * parameters, 2 * parameters} : costed_model(model);
    cost.basis = fmt::format(
        "roofline of an {}: {:.4g} GB at {:.4g} TB/s a pass, {:.4g} GFLOP at {:.4g} TFLOP/s a "
        "token",
        card.title, costed.bytes / 1e9, card.bytes_per_second / 1e12, costed.flops_per_token / 1e9,
        card.flops_per_second / 1e12);
    cost.costs = roofline(costed, card);
  }
  const PassCosts::Line* pass = cost.costs.line();
  PREDGEN_CHECK(pass, "there is no cost {}", name);
  if (draft_model) {
    const double share = costed_model(*draft_model).bytes / costed_model(model).bytes;
    const bool is_given = name == "given" && config.seconds_per_draft_pass > 0;
    cost.costs = cost.costs.with_draft_model(
        PassCosts::given(is_given ? Seconds(config.seconds_per_draft_pass) : pass->per_pass * share,
                         pass->per_token * share));
  }
  return cost;
}

Json to_json(const RunCost& cost) {
  Json json{{"name", cost.name}, {"basis", cost.basis}};
  const auto state = [&](const PassCosts& costs, const char* of_pass, const char* of_token) {
    const PassCosts::Line* line = costs.line();
    PREDGEN_CHECK(line || !costs.is_known(), "cost {}: its points would be lost", cost.name);
    if (!line) return;
    json[of_pass] = line->per_pass.count();
    json[of_token] = line->per_token.count();
  };
  state(cost.costs, "seconds_per_pass", "seconds_per_token");
  state(cost.costs.of_draft_model(), "seconds_per_draft_pass", "seconds_per_draft_token");
  return json;
}

RunCost run_cost_from(const Json& json) {
  const auto read = [&](const char* of_pass, const char* of_token) {
    if (!json.contains(of_pass)) return PassCosts();
    return PassCosts::given(Seconds(json.at(of_pass).get<double>()),
                            Seconds(json.at(of_token).get<double>()));
  };
  return {
      .name = json.at("name"),
      .basis = json.at("basis"),
      .costs = read("seconds_per_pass", "seconds_per_token")
                   .with_draft_model(read("seconds_per_draft_pass", "seconds_per_draft_token"))};
}

}  // namespace predgen::evaluate
