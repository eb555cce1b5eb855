#include "model/language_model.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "kernels/token_kernels.h"

namespace predgen {

void check_steps(std::span<const SequenceStep> steps) {
  PREDGEN_CHECK(!steps.empty(), "a pass over nothing");
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto T = static_cast<int64_t>(steps[i].tokens.size());
    const int64_t num_logits = steps[i].num_logits;
    PREDGEN_CHECK(T >= 1 && num_logits >= 0 && num_logits <= T, "{} logits of {} tokens",
                  num_logits, T);
    PREDGEN_CHECK(steps[i].num_masks >= 0 && steps[i].num_masks <= T, "{} masks of {} tokens",
                  steps[i].num_masks, T);
    PREDGEN_CHECK(steps[i].num_drafted >= 0 && steps[i].num_drafted < T, "{} drafted of {} tokens",
                  steps[i].num_drafted, T);
    PREDGEN_CHECK(steps[i].num_settled >= 0 && steps[i].num_settled <= T - steps[i].num_drafted,
                  "{} settled of {} tokens", steps[i].num_settled, T);
    const auto before = steps.first(i);
    PREDGEN_CHECK(std::ranges::find(before, steps[i].state, &SequenceStep::state) == before.end(),
                  "a cache takes part in a pass twice");
  }
}

std::vector<int64_t> snapshot_points(const SequenceStep& step) {
  const auto T = static_cast<int64_t>(step.tokens.size());
  const bool is_path = !step.tree_TT.defined() && step.num_masks == 0;
  // A tree that nobody calls a draft has no place to return to.
  if (!is_path && step.num_drafted == 0) return {};
  const int64_t committed = T - step.num_drafted;
  const KvLayout& layout = step.state->layout();
  const int64_t newest = layout.newest_snapshots();
  std::vector<int64_t> points;
  if (newest > 3 && step.num_settled > 0 && step.num_settled < committed - 1) {
    points.push_back(step.num_settled);
  }
  const int64_t length = step.state->length();
  const int64_t last = (length + committed - 2) / kSnapshotDistance;  // before the last token
  for (int64_t i = std::max<int64_t>(last - layout.spaced_snapshots(), 0) + 1; i <= last; ++i) {
    const int64_t point = i * kSnapshotDistance - length;
    if (point > std::max<int64_t>(step.num_settled, 0)) points.push_back(point);
  }
  if (newest > 2 && committed > 1) points.push_back(committed - 1);
  points.push_back(committed);
  if (is_path && step.num_drafted > 0) points.push_back(T);
  return points;
}

std::vector<int64_t> tree_parents(const SequenceStep& step) {
  std::vector<int64_t> parents(step.tokens.size());
  std::iota(parents.begin(), parents.end(), -1);
  if (!step.tree_TT.defined()) return parents;
  const at::Tensor tree_TT = step.tree_TT.contiguous();
  const bool* row = tree_TT.const_data_ptr<bool>();
  for (size_t i = 0; i < parents.size(); ++i, row += parents.size()) {
    while (parents[i] >= 0 && !row[parents[i]]) --parents[i];
  }
  return parents;
}

std::vector<int64_t> tree_depths(const SequenceStep& step) {
  const auto num_tokens = static_cast<int64_t>(step.tokens.size());
  std::vector<int64_t> depths(step.tokens.size());
  if (!step.tree_TT.defined()) {
    std::iota(depths.begin(), depths.end(), 0);
    return depths;
  }
  PREDGEN_CHECK(step.tree_TT.sizes() == at::IntArrayRef({num_tokens, num_tokens}),
                "a tree mask {} for {} tokens", c10::str(step.tree_TT.sizes()), num_tokens);
  PREDGEN_CHECK(step.tree_TT.is_cpu() && step.tree_TT.scalar_type() == at::kBool,
                "a tree mask is bool on the CPU");
  const at::Tensor tree_TT = step.tree_TT.contiguous();
  const bool* sees = tree_TT.const_data_ptr<bool>();
  for (int64_t i = 0; i < num_tokens; ++i) {
    const bool* row = sees + i * num_tokens;
    const int64_t seen = std::count(row, row + i, true);
    PREDGEN_CHECK(row[i] && std::count(row + i + 1, row + num_tokens, true) == 0,
                  "token {} of a tree must see itself and none after it", i);
    depths[static_cast<size_t>(i)] = seen;
  }
  return depths;
}

at::Tensor most_likely(const at::Tensor& logits_NV) {
  if (!logits_NV.is_cpu() || logits_NV.scalar_type() != at::kFloat) return logits_NV.argmax(-1);
  const at::Tensor rows = logits_NV.contiguous();
  const int64_t V = rows.size(1);
  at::Tensor best_N = at::empty({rows.size(0)}, at::kLong);
  for (int64_t i = 0; i < rows.size(0); ++i) {
    best_N.mutable_data_ptr<int64_t>()[i] =
        token_kernels().float32.argmax(rows.const_data_ptr<float>() + i * V, V);
  }
  return best_N;
}

}  // namespace predgen
