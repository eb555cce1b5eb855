#include "train/consistency_objective.h"

#include <algorithm>

#include "core/error.h"
#include "train/autoregressive_objective.h"
#include "train/chunked_loss.h"
#include "train/noisy_rows.h"
#include "train/precision.h"

namespace predgen {
namespace {

constexpr uint64_t kEvaluationSeed = 0;  // held-out losses of all steps use the same states

/// A noisy row and where its clean twin's hidden states begin in the teacher's output.
struct Pair {
  const NoisyRow* row;
  int64_t teacher_begin;
};

}  // namespace

ConsistencyObjective::ConsistencyObjective(ConsistencyOptions options)
    : options_(std::move(options)) {}

LossTerms ConsistencyObjective::count(const Batch& batch, uint64_t step_seed) const {
  int64_t positions = 0;
  for (const Record& record : batch) {
    positions += make_noisy_rows(record, options_, step_seed).num_positions();
  }
  return {{"ar", {0.0, static_cast<double>(count_targets(batch))}},
          {"consistency", {0.0, static_cast<double>(positions)}}};
}

LossTerms ConsistencyObjective::accumulate_gradients(
    Transformer& model, const Batch& batch, const std::map<std::string, double>& denominators,
    uint64_t step_seed) {
  LossTerms terms{{"ar", {}}, {"consistency", {}}};
  const double ar_denominator = denominators.at("ar");
  if (ar_denominator > 0.0 && options_.ar_weight != 0.0) {
    terms["ar"] = cross_entropy_term(model, batch, options_.ar_weight / ar_denominator);
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
  std::vector<RecordRows> records;
  for (const Record& record : batch) {
    records.push_back(make_noisy_rows(record, options_, step_seed));
  }

  // The teacher sees every clean row once; its positions are those of all noisy rows of the record.
  std::vector<TokenIds> clean;
  std::vector<RowPosition> positions;
  std::vector<Pair> pairs;
  for (RecordRows& record : records) {
    if (record.noisy.empty()) continue;
    int64_t last_column = 0;
    for (const NoisyRow& row : record.noisy) {
      pairs.push_back({&row, static_cast<int64_t>(positions.size())});
      for (const int64_t column : row.columns) {
        positions.push_back({static_cast<int64_t>(clean.size()), column});
      }
      last_column = std::max(last_column, row.columns.back());
    }
    record.clean.resize(static_cast<size_t>(last_column) + 1);
    clean.push_back(std::move(record.clean));
  }
  if (pairs.empty()) return {};
  at::Tensor teacher_NE;
  {
    const NoGradScope no_grad;
    teacher_NE = hidden_at(model, clean, positions);
  }

  // The student: at most as many rows at a time as the batch has records, similar lengths together.
  std::ranges::stable_sort(
      pairs, {}, [](const Pair& pair) { return pair.row->tokens.size(); });
  LossTerm term;
  for (size_t begin = 0; begin < pairs.size(); begin += batch.size()) {
    const size_t end = std::min(begin + batch.size(), pairs.size());
    std::vector<TokenIds> rows;
    std::vector<RowPosition> student_positions;
    std::vector<int64_t> teacher_indices;
    std::vector<float> weights;
    for (size_t i = begin; i < end; ++i) {
      const NoisyRow& row = *pairs[i].row;
      for (size_t k = 0; k < row.columns.size(); ++k) {
        student_positions.push_back({static_cast<int64_t>(rows.size()), row.columns[k]});
        teacher_indices.push_back(pairs[i].teacher_begin + static_cast<int64_t>(k));
        weights.push_back(static_cast<float>(row.weight));
      }
      rows.push_back(row.tokens);
    }
    const at::Device device = model.device();
    term.sum += kl_divergence(
        model, teacher_NE.index_select(0, at::tensor(teacher_indices, at::kLong).to(device)),
        hidden_at(model, rows, student_positions), at::tensor(weights, at::kFloat).to(device),
        scale);
    term.count += static_cast<double>(student_positions.size());
  }
  return term;
}

}  // namespace predgen
