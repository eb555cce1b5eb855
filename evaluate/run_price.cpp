#include "evaluate/run_price.h"

#include <algorithm>

#include "core/error.h"
#include "evaluate/decode_bytes.h"
#include "runtime/price/engine_prices.h"
#include "runtime/price/roofline.h"

namespace predgen::evaluate {
namespace {

constexpr double kPaperPass = 0.027;  // 488 ms for 17.9 passes, arXiv 2506.15556, Table 1
constexpr int64_t kMeasuredWidth = 32;

PricedModel priced_model(const PricedEngine& priced) {
  const ModelConfig& config = priced.model.config();
  double parameters = static_cast<double>(config.num_active_parameters());
  if (!config.tie_word_embeddings) {  // a token reads one row of the table
    parameters -= static_cast<double>(config.vocab_size * config.hidden_size);
  }
  return {.bytes = decode_bytes(priced.model, priced.quantization).per_token(0),
          .flops_per_token = 2 * parameters};
}

/// The line through passes over one token and kMeasuredWidth more.
PassPrices measure_line(Engine& engine) {
  const PassPrices measured = measure_prices(engine, kMeasuredWidth);
  const double one = measured.of(1).count(), all = measured.of(1 + kMeasuredWidth).count();
  const double per_token = std::max(0.0, (all - one) / static_cast<double>(kMeasuredWidth));
  return PassPrices::given(Seconds(std::max(0.0, one - per_token)), Seconds(per_token));
}

}  // namespace

const std::vector<std::string>& price_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"wall_clock", "given", "a5000"};
    for (const Card& card : cards()) all.emplace_back(card.name);
    all.emplace_back("this_machine");
    return all;
  }();
  return names;
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
    price.prices = measure_line(model.engine);
    if (draft_model) {
      price.prices = price.prices.with_draft_model(measure_line(draft_model->engine));
    }
    return price;
  }
  if (name == "given") {
    price.basis = "the configuration";
    price.prices =
        PassPrices::given(Seconds(config.seconds_per_pass), Seconds(config.seconds_per_token));
  } else if (name == "a5000") {
    price.basis = "the paper's RTX A5000 with a 7B model, whatever the width of a pass";
    price.prices = PassPrices::given(Seconds(kPaperPass));
  }
  for (const Card& card : cards()) {
    if (name != card.name) continue;
    const double parameters = config.priced_parameters;
    const PricedModel priced =
        parameters > 0 ? PricedModel{2 * parameters, 2 * parameters} : priced_model(model);
    price.basis = fmt::format(
        "roofline of an {}: {:.4g} GB at {:.4g} TB/s a pass, {:.4g} GFLOP at {:.4g} TFLOP/s a "
        "token",
        card.title, priced.bytes / 1e9, card.bytes_per_second / 1e12, priced.flops_per_token / 1e9,
        card.flops_per_second / 1e12);
    price.prices = roofline(priced, card);
  }
  const PassPrices::Line* pass = price.prices.line();
  PREDGEN_CHECK(pass, "there is no price {}", name);
  if (draft_model) {
    const double share = priced_model(*draft_model).bytes / priced_model(model).bytes;
    const bool is_given = name == "given" && config.seconds_per_draft_pass > 0;
    price.prices = price.prices.with_draft_model(PassPrices::given(
        is_given ? Seconds(config.seconds_per_draft_pass) : pass->per_pass * share,
        pass->per_token * share));
  }
  return price;
}

Json to_json(const RunPrice& price) {
  Json json{{"name", price.name}, {"basis", price.basis}};
  const auto state = [&](const PassPrices& prices, const char* of_pass, const char* of_token) {
    const PassPrices::Line* line = prices.line();
    PREDGEN_CHECK(line || !prices.is_known(), "price {}: its points would be lost", price.name);
    if (!line) return;
    json[of_pass] = line->per_pass.count();
    json[of_token] = line->per_token.count();
  };
  state(price.prices, "seconds_per_pass", "seconds_per_token");
  state(price.prices.of_draft_model(), "seconds_per_draft_pass", "seconds_per_draft_token");
  return json;
}

RunPrice run_price_from(const Json& json) {
  const auto read = [&](const char* of_pass, const char* of_token) {
    if (!json.contains(of_pass)) return PassPrices();
    return PassPrices::given(Seconds(json.at(of_pass).get<double>()),
                             Seconds(json.at(of_token).get<double>()));
  };
  return {
      .name = json.at("name"),
      .basis = json.at("basis"),
      .prices = read("seconds_per_pass", "seconds_per_token")
                    .with_draft_model(read("seconds_per_draft_pass", "seconds_per_draft_token"))};
}

}  // namespace predgen::evaluate
