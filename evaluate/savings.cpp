#include "evaluate/savings.h"

#include "evaluate/statistics.h"

namespace predgen::evaluate {
namespace {

constexpr uint64_t kBootstrapSeed = 0;

using Values = std::vector<std::optional<double>>;

}  // namespace

Values costs_of(const Rows& rows, const std::string& metric) {
  Values costs = values_of(rows, metric);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto value = [&](const char* name) { return value_of(*rows[i], name).value_or(0); };
    double passes = 0;
    if (metric == "total_nfe") passes = value("draft_model_total_nfe");
    if (metric.starts_with("nfe_")) passes = value("draft_model_nfe_to_first_sentence");
    if (costs[i]) *costs[i] += value("draft_cost") * passes;
  }
  return costs;
}

Json saving(const Rows& baseline, const Rows& method, const std::string& metric, int64_t at_least) {
  Values above = costs_of(baseline, metric), below = costs_of(method, metric);
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (value_of(*baseline[i], "first_sentence_tokens") < at_least) above[i].reset();
  }
  return to_json(ratio_of_means(above, below, kBootstrapSeed));
}

}  // namespace predgen::evaluate
