#include "model/parts/pass_input.h"

#include <algorithm>

namespace predgen {
namespace {

AttentionMasks masks_of(const SequenceStep& step, const std::vector<int64_t>& depths,
                        int64_t num_folded, const at::TensorOptions& options) {
  const int64_t past = step.state->length(), T = static_cast<int64_t>(step.tokens.size());
  if (!step.tree_TT.defined()) return {{}, {}, T, past, num_folded, options};
  const at::Tensor seen_TS = at::cat({at::ones({T, past}, at::kBool), step.tree_TT}, 1);
  const at::Tensor positions_1S =
      at::cat({at::arange(past, at::kLong), at::tensor(depths, at::kLong) + past}).unsqueeze(0);
  const at::Device device = options.device();
  return {seen_TS.to(device), positions_1S.to(device), T, past, num_folded, options};
}

}  // namespace

PassInput::PassInput(std::span<const SequenceStep> steps, const Options& how) {
  TokenIds tokens;
  std::vector<int64_t> positions;
  for (const SequenceStep& step : steps) {
    const auto T = static_cast<int64_t>(step.tokens.size());
    const std::vector<int64_t> depths = tree_depths(step);
    tokens.insert(tokens.end(), step.tokens.begin(), step.tokens.end());
    const int64_t past =
        step.read != nullptr ? step.read->front().first.size(2) : step.state->length();
    for (const int64_t depth : depths) positions.push_back(past + depth);
    rows.push_back({.state = step.state,
                    .num_new = T,
                    .masks = masks_of(step, depths, how.num_folded, how.options),
                    .read = step.read});
    if (how.num_states == 0) continue;
    for (const int64_t point : snapshot_points(step)) {
      rows.back().points.push_back({point, std::vector<LayerState>(how.num_states)});
    }
    if (step.tree_TT.defined()) rows.back().parents = tree_parents(step);
  }
  const auto total = static_cast<int64_t>(tokens.size());
  inputs_2T = at::empty({2, total}, at::kLong);
  int64_t* inputs = inputs_2T.mutable_data_ptr<int64_t>();
  std::ranges::copy(positions, std::ranges::copy(tokens, inputs).out);
}

at::Tensor mask_gate(std::span<const SequenceStep> steps) {
  std::vector<at::Tensor> gates;
  for (const SequenceStep& step : steps) {
    const auto T = static_cast<int64_t>(step.tokens.size());
    gates.push_back(at::zeros({1, T, 1}));
    gates.back().narrow(1, T - step.num_masks, step.num_masks).fill_(1);
  }
  return at::cat(gates, 1);
}

}  // namespace predgen
