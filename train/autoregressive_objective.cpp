#include "train/autoregressive_objective.h"

#include "train/chunked_loss.h"
#include "train/precision.h"
#include "train/token_rows.h"

namespace predgen {

int64_t count_targets(const Batch& batch) {
  int64_t count = 0;
  for (const Record& record : batch) {
    for (size_t i = 1; i < record.tokens.size(); ++i) count += record.loss_mask[i] != 0;
  }
  return count;
}

LossTerm cross_entropy_term(const Transformer& model, const Batch& batch, double scale) {
  std::vector<TokenIds> rows;
  std::vector<RowPosition> positions;
  TokenIds targets;
  for (const Record& record : batch) {
    size_t last_target = 0;
    for (size_t i = 1; i < record.tokens.size(); ++i) {
      if (record.loss_mask[i] == 0) continue;
      positions.push_back(
          {static_cast<int64_t>(rows.size()), static_cast<int64_t>(i) - 1});
      targets.push_back(record.tokens[i]);
      last_target = i;
    }
    if (last_target == 0) continue;
    // Nothing from the last target on is needed as input.
    rows.emplace_back(record.tokens.begin(),
                      record.tokens.begin() + static_cast<int64_t>(last_target));
  }
  if (targets.empty()) return {};
  const at::Tensor hidden_NE = hidden_at(model, rows, positions);
  const at::Tensor targets_N = at::tensor(targets, at::kLong).to(model.device());
  return {cross_entropy(model, hidden_NE, targets_N, scale), static_cast<double>(targets.size())};
}

LossTerms AutoregressiveObjective::count(const Batch& batch, uint64_t) const {
  return {{"ar", {0.0, static_cast<double>(count_targets(batch))}}};
}

LossTerms AutoregressiveObjective::accumulate_gradients(
    Transformer& model, const Batch& batch, const std::map<std::string, double>& denominators,
    uint64_t) {
  const double denominator = denominators.at("ar");
  if (denominator == 0.0) return {{"ar", {}}};
  return {{"ar", cross_entropy_term(model, batch, 1.0 / denominator)}};
}

LossTerms AutoregressiveObjective::evaluate(const Transformer& model, const Batch& batch) const {
  const NoGradScope no_grad;
  return {{"ar", cross_entropy_term(model, batch, 0.0)}};
}

}  // namespace predgen
