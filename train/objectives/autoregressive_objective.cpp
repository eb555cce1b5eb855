#include "train/objectives/autoregressive_objective.h"

#include "train/objectives/chunked_loss.h"
#include "train/objectives/token_rows.h"
#include "train/optim/precision.h"

namespace predgen {

int64_t count_targets(const Batch& batch) {
  int64_t count = 0;
  for (const Record& record : batch) {
    for (size_t i = 1; i < record.tokens.size(); ++i) count += record.loss_mask[i] != 0;
  }
  return count;
}

namespace {

struct TargetRows {
  std::vector<TokenIds> rows;
  std::vector<RowPosition> positions;
  TokenIds targets;
};

TargetRows target_rows(const Batch& batch) {
  TargetRows result;
  for (const Record& record : batch) {
    size_t last_target = 0;
    for (size_t i = 1; i < record.tokens.size(); ++i) {
      if (record.loss_mask[i] == 0) continue;
      result.positions.push_back(
          {static_cast<int64_t>(result.rows.size()), static_cast<int64_t>(i) - 1});
      result.targets.push_back(record.tokens[i]);
      last_target = i;
    }
    if (last_target == 0) continue;
    // Nothing from the last target on is needed as input.
    result.rows.emplace_back(record.tokens.begin(),
                             record.tokens.begin() + static_cast<int64_t>(last_target));
  }
  return result;
}

}  // namespace

LossTerm cross_entropy_term(const Transformer& model, const Batch& batch, double scale) {
  const auto [rows, positions, targets] = target_rows(batch);
  if (targets.empty()) return {};
  TrainingPass pass = run_rows(model, rows);
  const at::Tensor targets_N = at::tensor(targets, at::kLong).to(model.device());
  const double sum = cross_entropy(model, hidden_at(pass, positions), targets_N, scale);
  pass.finish_backward();
  return {sum, static_cast<double>(targets.size())};
}

int64_t count_positions(const Batch& batch) {
  int64_t count = 0;
  for (const Record& record : batch) count += static_cast<int64_t>(record.tokens.size());
  return count;
}

LossTerm base_divergence_term(Transformer& model, const Batch& batch, double scale) {
  std::vector<TokenIds> rows;
  std::vector<RowPosition> positions;
  for (const Record& record : batch) {
    const auto row = static_cast<int64_t>(rows.size());
    const auto size = static_cast<int64_t>(record.tokens.size());
    for (int64_t column = 0; column < size; ++column) positions.push_back({row, column});
    rows.push_back(record.tokens);
  }
  if (positions.empty()) return {};
  at::Tensor base_NE;
  {
    const NoGradScope no_grad;
    model.set_adapter_enabled(false);
    base_NE = hidden_at(run_rows(model, rows), positions);
    model.set_adapter_enabled(true);
  }
  const at::Tensor weights_N = at::ones(base_NE.size(0), base_NE.options().dtype(at::kFloat));
  TrainingPass pass = run_rows(model, rows);
  const double sum = kl_divergence(model, base_NE, hidden_at(pass, positions), weights_N, scale);
  pass.finish_backward();
  return {sum, static_cast<double>(positions.size())};
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
