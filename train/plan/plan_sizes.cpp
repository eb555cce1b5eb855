#include "train/plan/plan_sizes.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/device_memory.h"
#include "model/parts/recurrent_part.h"
#include "model/weights/adapter_config.h"
#include "train/optim/precision.h"

namespace predgen::train {

PlanCase case_of(c10::Device device, int world_size) {
  return {.world_size = world_size,
          .is_cuda = device.is_cuda(),
          .bfloat16_products = has_bfloat16_products(device),
          .process_bytes = resident_bytes()};
}

void set_longest_row(const data::DatasetReader& dataset, const Objective& objective,
                     PlanCase& plan_case) {
  plan_case.row_tokens = plan_case.taught_tokens = plan_case.noisy_tokens = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const data::RecordSize size = dataset.size_of(i);
    const int64_t row = objective.longest_row(size);
    plan_case.row_tokens = std::max(plan_case.row_tokens, row);
    plan_case.taught_tokens = std::max(plan_case.taught_tokens, row - size.prompt_length);
    int64_t noisy = row - size.tokens;
    for (const data::RecordSize::Block& block : size.blocks) noisy -= block.tokens;
    plan_case.noisy_tokens = std::max(plan_case.noisy_tokens, noisy);
    plan_case.has_segments = plan_case.has_segments || row > size.tokens || size.has_branches;
  }
}

namespace {

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

/// Values that a token has between the products of an MLP, or of its experts.
int64_t opened_width(const ModelConfig& model, const LayerSpec& layer) {
  const ExpertsSpec& experts = layer.experts;
  const int64_t width =
      layer.feed_forward.width > 0 ? layer.feed_forward.width : model.intermediate_size;
  return (layer.has_mlp() ? width : 0) + experts.chosen * experts.width + experts.shared_width;
}

/// The layer that a weight is of; -1: none.
int64_t layer_of(const std::string& name) {
  constexpr std::string_view kPrefix = "model.layers.";
  return name.starts_with(kPrefix) ? std::stoll(name.substr(kPrefix.size())) : -1;
}

}  // namespace

PlanSizes::PlanSizes(const ModelConfig& model_config, const TrainConfig& train_config,
                     const PlanCase& given)
    : model(model_config),
      train(train_config),
      plan_case(given),
      narrow(train.compute == Compute::kBFloat16 && given.bfloat16_products),
      weight_size(train.mode == TrainMode::kLora && train.compute == Compute::kBFloat16 ? kHalf
                                                                                        : kFloat),
      value_size(narrow && train.mode == TrainMode::kLora ? kHalf : kFloat),
      E(model.hidden_size),
      V(model.vocab_size),
      P(model.layer_input_width),
      pieces(train.base.shard ? given.world_size : 1) {
  for (const LayerSpec& layer : model.layers) {
    layers.push_back({.width = opened_width(model, layer)});
    widest = std::max(widest, layers.back().width);
  }
  const AdapterConfig adapter(train.lora);
  std::set<std::pair<int64_t, int64_t>> seen;  // layers, and inputs of their linears
  for (const WeightSpec& weight : weight_layout(model)) {
    const int64_t count = count_of(weight.shape), index = layer_of(weight.name);
    if (is_full() && !weight.is_buffer) trained += count;
    if (weight.shape.size() != 2 || index < 0) {
      outside_values += count;
      continue;
    }
    LayerSizes& layer = layers.at(static_cast<size_t>(index));
    layer.values += count;
    most_values = std::max(most_values, layer.values);
    largest_linear = std::max(largest_linear, count);
    const std::string module = weight.name.substr(0, weight.name.rfind('.'));
    if (is_full() || !weight.stacked.empty() || !adapter.matches(module)) continue;
    const int64_t rank = adapter.rank(module);
    trained += rank * (weight.shape[0] + weight.shape[1]);
    layer.ranks += rank;
    layer.inputs += weight.shape[1];
    if (seen.emplace(index, weight.input).second) layer.shared_inputs += weight.shape[1];
    const AttentionNames& names = model.layers[static_cast<size_t>(index)].attention.names;
    layer.adapts_attended |= module.ends_with(names.output.hugging_face);
  }
}

int64_t PlanSizes::most_saved() const {
  int64_t most = 0;
  for (int64_t i = 0; i < model.num_layers(); ++i) most = std::max(most, saved_of(i));
  return most;
}

int64_t PlanSizes::saved_from(int64_t first) const {
  int64_t sum = 0;
  for (int64_t i = first; i < model.num_layers(); ++i) sum += saved_of(i);
  return sum;
}

int64_t PlanSizes::saved_of_layer_inputs() const {
  const int64_t all = model.num_layers() * P;
  // The result. If the second embedding is trained, also the product that the norm sees, and what
  // the norm makes of it.
  return value_size * all + (is_full() ? 2 * kFloat * all : 0);
}

int64_t PlanSizes::saved_of(int64_t index) const {
  const LayerSpec& layer = model.layers[static_cast<size_t>(index)];
  const LayerSizes& sizes = layers[static_cast<size_t>(index)];
  // Norms save their input in float32 and a scale; attention its queries, keys, values, result and
  // one number per head; the MLP its gate before and after the activation and the other factor. So
  // does the part that takes a layer's own input; where that is not trained, its gate alone.
  const AttentionSpec& attention = layer.attention;
  const int64_t D = model.head_dim_of(attention), Q = model.num_heads * D;
  const int64_t K = attention.shares < 0 ? model.num_kv_heads_of(attention) * D : 0;
  const int64_t num_norms = (layer.norm_before ? 2 : 0) + (layer.norm_after ? 2 : 0) +
                            (layer.layer_input ? 1 : 0) + (layer.experts.beside_mlp ? 3 : 0);
  int64_t bytes = num_norms * kFloat * (E + 1) + kFloat * model.num_heads;
  const int64_t product_size = narrow ? kHalf : kFloat;
  const int64_t own_input = layer.layer_input ? (is_full() ? 3 : 1) * P : 0;
  bytes += product_size * (2 * Q + 2 * K + 3 * sizes.width + own_input);
  if (layer.recurrence) bytes += kFloat * layer.recurrence->saved_values(model);
  if (attention.qk_norm != QkNorm::kNone) bytes += kFloat * (Q + K);
  if (attention.value_norm) bytes += kFloat * K;
  if (is_full()) {
    // The normed values before the weight, then the products' inputs: autocast makes one for each.
    bytes += kFloat * num_norms * E;
    return bytes +
           (narrow ? kHalf * (5 * E + Q + sizes.width) : kFloat * (2 * E + Q + sizes.width));
  }
  bytes += product_size * sizes.ranks;
  // The adapter behind attention saves its result once more where that has another layout.
  const bool is_same = sizes.adapts_attended && !plan_case.is_cuda && !attention.output_gate &&
                       attention.softcap == 0 && !attention.sinks;
  if (train.lora.dropout == 0) {
    return bytes + product_size * (sizes.shared_inputs - (is_same ? Q : 0));
  }
  // Each adapter saves its own input and that input's factor.
  return bytes + sizes.inputs * (product_size + (plan_case.is_cuda ? 1 : product_size));
}

}  // namespace predgen::train
