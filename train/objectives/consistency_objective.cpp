#include "train/objectives/consistency_objective.h"

#include <algorithm>

#include "core/error.h"
#include "train/objectives/autoregressive_objective.h"
#include "train/objectives/chunked_loss.h"
#include "train/objectives/packed_row.h"
#include "train/optim/precision.h"

namespace predgen {
namespace {
constexpr uint64_t kEvaluationSeed = 0;  // held-out losses of all steps use the same states
}  // namespace

ConsistencyObjective::ConsistencyObjective(ConsistencyOptions options)
    : options_(std::move(options)) {}

const char* ConsistencyObjective::answer_term() const {
  return options_.ar_target == ArTarget::kBase ? "base" : "ar";
}

LossTerms ConsistencyObjective::count(const Batch& batch, uint64_t step_seed) const {
  double positions = 0.0;
  for (const Record& record : batch) positions += pack_row(record, options_, step_seed).count;
  const int64_t num_taught =
      options_.ar_target == ArTarget::kBase ? count_positions(batch) : count_targets(batch);
  return {{answer_term(), {0.0, static_cast<double>(num_taught)}},
          {"consistency", {0.0, positions}}};
}

LossTerms ConsistencyObjective::accumulate_gradients(
    Transformer& model, const Batch& batch, const std::map<std::string, double>& denominators,
    uint64_t step_seed) {
  LossTerms terms{{answer_term(), {}}, {"consistency", {}}};
  const double ar_denominator = denominators.at(answer_term());
  if (ar_denominator > 0.0 && options_.ar_weight != 0.0) {
    const double scale = options_.ar_weight / ar_denominator;
    terms[answer_term()] = options_.ar_target == ArTarget::kBase
                               ? base_divergence_term(model, batch, scale)
                               : cross_entropy_term(model, batch, scale);
  }
  const double denominator = denominators.at("consistency");
  if (denominator > 0.0 && options_.consistency_weight != 0.0) {
    terms["consistency"] =
        consistency_term(model, batch, options_.consistency_weight / denominator, step_seed);
  }
  return terms;
}

LossTerms ConsistencyObjective::evaluate(const Transformer& model, const Batch& batch) const {
  const NoGradScope no_grad;
  return {{"ar", cross_entropy_term(model, batch, 0.0)},
          {"consistency", consistency_term(model, batch, 0.0, kEvaluationSeed)}};
}

LossTerm ConsistencyObjective::consistency_term(const Transformer& model, const Batch& batch,
                                                double scale, uint64_t step_seed) const {
  std::vector<TokenIds> rows;
  std::vector<std::vector<Segment>> segments;
  std::vector<RowPosition> positions;  // the students', then the teachers'
  std::vector<RowPosition> teachers;
  std::vector<double> weights;
  LossTerm term;
  for (const Record& record : batch) {
    PackedRow row = pack_row(record, options_, step_seed);
    if (row.student.empty()) continue;
    const auto index = static_cast<int64_t>(rows.size());
    for (size_t i = 0; i < row.student.size(); ++i) {
      positions.push_back({index, row.student[i]});
      teachers.push_back({index, row.teacher[i]});
    }
    weights.insert(weights.end(), row.weights.begin(), row.weights.end());
    term.count += row.count;
    rows.push_back(std::move(row.tokens));
    segments.push_back(std::move(row.segments));
  }
  if (positions.empty()) return {};
  const auto count = static_cast<int64_t>(positions.size());
  positions.insert(positions.end(), teachers.begin(), teachers.end());
  TrainingPass pass = run_rows(model, rows, segments);
  const at::Tensor hidden_NE = hidden_at(pass, positions);
  const at::Tensor weights_N = at::tensor(weights, at::kFloat).to(model.device());
  term.sum = kl_divergence(model, hidden_NE.narrow(0, count, count).detach(),
                           hidden_NE.narrow(0, 0, count), weights_N, scale);
  pass.finish_backward();
  return term;
}

}  // namespace predgen
