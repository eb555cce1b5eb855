#include "train/objectives/consistency_objective.h"

#include <algorithm>

#include "train/objectives/autoregressive_objective.h"
#include "train/objectives/packed_row.h"

namespace predgen::train {
namespace {

constexpr uint64_t kEvaluationSeed = 0;  // held-out losses of all steps use the same states

/// Every token of the record, including the prompt: this needs no labels.
void add_base(const data::Record& record, int64_t index, PackedRow& row, PackedBatch& packed,
              TaughtTerm& term) {
  const auto size = static_cast<int64_t>(record.tokens.size());
  const auto base_row = static_cast<int64_t>(packed.base_rows.size());
  const std::vector<int64_t> columns = add_tokens(record, size, row);
  for (int64_t i = 0; i < size; ++i) {
    term.students.push_back({index, columns[static_cast<size_t>(i)]});
    term.teachers.push_back({base_row, i});
  }
  packed.base_rows.push_back(record.tokens);
  term.count += static_cast<double>(size);
}

void add_consistency(const PackedRow& row, int64_t index, TaughtTerm& term) {
  for (size_t i = 0; i < row.student.size(); ++i) {
    term.students.push_back({index, row.student[i]});
    term.teachers.push_back({index, row.teacher[i]});
    term.position_weights.push_back(row.weights[i]);
  }
  term.count += row.count;
}

}  // namespace

ConsistencyObjective::ConsistencyObjective(ConsistencyOptions options)
    : options_(std::move(options)) {}

PackedBatch ConsistencyObjective::pack(const Batch& batch, uint64_t step_seed) const {
  const bool to_base = options_.ar_target == ArTarget::kBase;
  PackedBatch packed;
  TaughtTerm& answers = packed.terms[to_base ? "base" : "ar"];
  answers.weight = options_.ar_weight;
  answers.label_smoothing = to_base ? 0.0 : options_.label_smoothing;
  answers.teacher_is_base = to_base;
  TaughtTerm& consistency = packed.terms["consistency"];
  consistency.weight = options_.consistency_weight;
  for (const data::Record& record : batch) {
    const auto index = static_cast<int64_t>(packed.rows.size());
    PackedRow row;
    if (consistency.weight > 0) row = pack_row(record, options_, step_seed);
    add_consistency(row, index, consistency);
    if (answers.weight > 0 && to_base) add_base(record, index, row, packed, answers);
    if (answers.weight > 0 && !to_base) add_labels(record, index, row, answers);
    if (row.tokens.empty()) continue;
    packed.rows.push_back(std::move(row.tokens));
    packed.segments.push_back(std::move(row.segments));
  }
  return packed;
}

PackedBatch ConsistencyObjective::pack_held_out(const Batch& batch) const {
  ConsistencyOptions plain = options_;
  plain.ar_target = ArTarget::kLabels;
  plain.label_smoothing = 0.0;
  plain.ar_weight = plain.consistency_weight = 1.0;
  return ConsistencyObjective(std::move(plain)).pack(batch, kEvaluationSeed);
}

int64_t ConsistencyObjective::longest_row(const data::RecordSize& size) const {
  if (options_.consistency_weight == 0 || size.blocks.empty()) return size.tokens;
  const bool one_state =
      options_.context == NoisyContext::kNoisy || options_.states == StateChoice::kProgressive;
  const int64_t most_states = one_state ? 1 : options_.states_per_block;
  int64_t answer = 0, noise = 0, most_noise = 0;
  for (const data::RecordSize::Block& block : size.blocks) {
    const int64_t own = block.tokens * std::min(most_states, block.num_states);
    answer += block.tokens;
    noise += own;
    most_noise = std::max(most_noise, own);
  }
  const bool one_block =
      options_.context == NoisyContext::kClean && options_.blocks == BlockChoice::kOne;
  return size.tokens + answer + (one_block ? most_noise : noise);
}

}  // namespace predgen::train
