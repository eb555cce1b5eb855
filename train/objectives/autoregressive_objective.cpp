#include "train/objectives/autoregressive_objective.h"

#include <algorithm>

namespace predgen::train {

void add_labels(const data::Record& record, int64_t index, PackedRow& row, TaughtTerm& term) {
  int64_t last_target = 0;
  for (size_t i = 1; i < record.tokens.size(); ++i) {
    if (record.loss_mask[i] != 0) last_target = static_cast<int64_t>(i);
  }
  // Tokens from the last target on are not needed as input.
  const std::vector<int64_t> columns = add_tokens(record, last_target, row);
  for (size_t i = 1; i <= columns.size(); ++i) {
    if (record.loss_mask[i] == 0) continue;
    term.students.push_back({index, columns[i - 1]});
    term.targets.push_back(record.tokens[i]);
  }
  term.count = static_cast<double>(term.targets.size());
}

namespace {

void add_branches(const data::Record& record, PackedRow& row) {
  const auto size = std::ssize(row.tokens);
  // The first goes on where the shared tokens end, as it stands.
  for (size_t i = 1; i < record.branches.size() && record.branches[i] < size; ++i) {
    const bool is_last = i + 1 == record.branches.size();
    const int64_t begin = record.branches[i];
    const int64_t end = is_last ? size : std::min(size, record.branches[i + 1]);
    row.segments.push_back({begin, end - begin, record.branches.front()});
  }
}

}  // namespace

PackedBatch AutoregressiveObjective::pack(const Batch& batch, uint64_t) const {
  PackedBatch packed;
  TaughtTerm& term = packed.terms["ar"];
  term.label_smoothing = label_smoothing_;
  for (const data::Record& record : batch) {
    PackedRow row;
    add_labels(record, static_cast<int64_t>(packed.rows.size()), row, term);
    if (row.tokens.empty()) continue;
    add_branches(record, row);
    packed.rows.push_back(std::move(row.tokens));
    packed.segments.push_back(std::move(row.segments));
  }
  return packed;
}

PackedBatch AutoregressiveObjective::pack_held_out(const Batch& batch) const {
  return AutoregressiveObjective(0.0).pack(batch, 0);
}

}  // namespace predgen::train
