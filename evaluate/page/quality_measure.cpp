#include "evaluate/page/quality_measure.h"

#include <algorithm>

namespace predgen::evaluate {
namespace {

std::optional<Estimate> percent(std::optional<Estimate> share) {
  if (!share) return std::nullopt;
  for (double* value : {&share->value, &share->low, &share->high}) *value *= 100;
  return share;
}

/// A share of turns, as results.json has them.
std::optional<Estimate> share_estimate(const Json& share) {
  const auto value = number_at(share, {"share"}), low = number_at(share, {"low"}),
             high = number_at(share, {"high"});
  if (!value || !low || !high) return std::nullopt;
  return Estimate{*value, *low, *high, static_cast<int64_t>(number_at(share, {"n"}).value_or(0))};
}

bool any_has(const RunView& run, const QualityMeasure& measure) {
  return std::ranges::any_of(
      run.methods(), [&](const std::string& method) { return measure.of(method).has_value(); });
}

/// The last of the measures compares with a baseline.
bool is_compared(const RunView& run) {
  return std::ranges::any_of(run.methods(), [&](const std::string& method) {
    return at_path(run.comparison(method), {"changed_text"}).is_object();
  });
}

}  // namespace

std::optional<QualityMeasure> quality_measure(const RunView& run) {
  std::string judge = text_at(run.report(), {"environment", "judge", "model"});
  if (judge.empty()) judge = "the judge";
  const QualityMeasure measures[] = {
      {"Grade by " + judge + ", 1 to 10", "grade", 2, true,
       [&run](const std::string& method) { return mean_of(run.values(method, "judge_grade")); }},
      {"Right answers, %", "accuracy %", 1, true,
       [&run](const std::string& method) {
         return percent(share_estimate(at_path(run.method(method), {"accuracy"})));
       }},
      {"Names and numbers that answers repeat, %", "repeats %", 1, true,
       [&run](const std::string& method) -> std::optional<Estimate> {
         const auto wanted = run.values(method, "values_to_repeat");
         if (std::ranges::none_of(wanted, [](const auto& n) { return n.value_or(0) > 0; })) {
           return std::nullopt;
         }
         return percent(ratio_of_means(run.values(method, "values_repeated"), wanted, 0));
       }},
      {"Texts that are the baseline's, %", "same text %", 1, false,
       [&run](const std::string& method) -> std::optional<Estimate> {
         if (run.is_baseline(method) && is_compared(run)) return Estimate{100, 100, 100, 0};
         const auto changed = share_estimate(at_path(run.comparison(method), {"changed_text"}));
         if (!changed) return std::nullopt;
         return percent(
             Estimate{1 - changed->value, 1 - changed->high, 1 - changed->low, changed->n});
       }}};
  for (const QualityMeasure& measure : measures) {
    if (any_has(run, measure)) return measure;
  }
  return std::nullopt;
}

}  // namespace predgen::evaluate
