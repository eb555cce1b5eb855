#include "evaluate/run_price.h"

#include <algorithm>

#include "core/error.h"
#include "evaluate/decode_bytes.h"
#include "runtime/price/pass_seconds.h"

namespace predgen::evaluate {
namespace {

/// Makers' data sheets: memory bandwidth, and bfloat16 without sparsity.
struct Card {
  const char *name, *title;
  double bytes_per_second, flops_per_second;
};
constexpr Card kCards[] = {{"rtx4090", "RTX 4090", 1.008e12, 165.2e12},
                           {"h100", "H100 SXM", 3.35e12, 989.4e12}};

constexpr double kPaperPass = 0.027;  // 488 ms for 17.9 passes, arXiv 2506.15556, Table 1
constexpr int64_t kMeasuredWidth = 32;

PricedModel priced_model(const PricedEngine& priced) {
  const ModelConfig& config = priced.model.config();
  double parameters = static_cast<double>(config.num_parameters());
  if (!config.tie_word_embeddings) {  // of the table a token reads one row
    parameters -= static_cast<double>(config.vocab_size * config.hidden_size);
  }
  return {.bytes = decode_bytes(priced.model, priced.quantization).per_token(0),
          .flops_per_token = 2 * parameters};
}

PassPrice measure(Engine& engine) {
  const std::vector<double> seconds = measure_pass_seconds(engine, kMeasuredWidth);
  const double per_token =
      std::max(0.0, (seconds.back() - seconds.front()) / static_cast<double>(kMeasuredWidth));
  return {.per_pass = Seconds(std::max(0.0, seconds.front() - per_token)),
          .per_token = Seconds(per_token)};
}

}  // namespace

const std::vector<std::string>& price_names() {
  static const std::vector<std::string> names{"wall_clock", "given", "a5000",
                                              "rtx4090",    "h100",  "this_machine"};
  return names;
}

PassPrice roofline(const PricedModel& model, double bytes_per_second, double flops_per_second) {
  return {.per_pass = Seconds(model.bytes / bytes_per_second),
          .per_token = Seconds(model.flops_per_token / flops_per_second)};
}

RunPrice make_price(const std::string& name, const EvalConfig& config, const PricedEngine& model,
                    const PricedEngine* draft_model) {
  RunPrice price{.name = name};
  if (name == "wall_clock") {
    price.basis = "the wall clock of the machine that ran it";
    return price;
  }
  if (name == "this_machine") {
    price.basis =
        fmt::format("passes over 1 and {} tokens, measured at the start", 1 + kMeasuredWidth);
    price.pass = measure(model.engine);
    if (draft_model) price.draft_pass = measure(draft_model->engine);
    return price;
  }
  if (name == "given") {
    price.basis = "the configuration";
    price.pass = {Seconds(config.seconds_per_pass), Seconds(config.seconds_per_token)};
  } else if (name == "a5000") {
    price.basis = "the paper's RTX A5000 with a 7B model, whatever the width of a pass";
    price.pass = {.per_pass = Seconds(kPaperPass)};
  }
  for (const Card& card : kCards) {
    if (name != card.name) continue;
    const double parameters = config.priced_parameters;
    const PricedModel priced =
        parameters > 0 ? PricedModel{2 * parameters, 2 * parameters} : priced_model(model);
    price.basis = fmt::format(
        "roofline of an {}: {:.4g} GB at {:.4g} TB/s a pass, {:.4g} GFLOP at {:.4g} TFLOP/s a "
        "token",
        card.title, priced.bytes / 1e9, card.bytes_per_second / 1e12, priced.flops_per_token / 1e9,
        card.flops_per_second / 1e12);
    price.pass = roofline(priced, card.bytes_per_second, card.flops_per_second);
  }
  PREDGEN_CHECK(price.pass, "there is no price {}", name);
  if (draft_model) {
    const double share = priced_model(*draft_model).bytes / priced_model(model).bytes;
    price.draft_pass = {price.pass->per_pass * share, price.pass->per_token * share};
    if (name == "given" && config.seconds_per_draft_pass > 0) {
      price.draft_pass.per_pass = Seconds(config.seconds_per_draft_pass);
    }
  }
  return price;
}

Json to_json(const RunPrice& price) {
  Json json{{"name", price.name}, {"basis", price.basis}};
  if (!price.pass) return json;
  json["seconds_per_pass"] = price.pass->per_pass.count();
  json["seconds_per_token"] = price.pass->per_token.count();
  if (price.draft_pass.of(1) == Seconds(0)) return json;
  json["seconds_per_draft_pass"] = price.draft_pass.per_pass.count();
  json["seconds_per_draft_token"] = price.draft_pass.per_token.count();
  return json;
}

RunPrice run_price_from(const Json& json) {
  RunPrice price{.name = json.at("name"), .basis = json.at("basis")};
  if (!json.contains("seconds_per_pass")) return price;
  const auto seconds = [&](const char* key) { return Seconds(json.at(key).get<double>()); };
  price.pass = {seconds("seconds_per_pass"), seconds("seconds_per_token")};
  if (json.contains("seconds_per_draft_pass")) {
    price.draft_pass = {seconds("seconds_per_draft_pass"), seconds("seconds_per_draft_token")};
  }
  return price;
}

}  // namespace predgen::evaluate
