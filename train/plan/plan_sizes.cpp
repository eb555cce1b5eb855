#include "train/plan/plan_sizes.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "model/parts/decoder_layer.h"
#include "model/weights/adapter_config.h"

namespace predgen::train {
namespace {

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

/// Values that a token has between the products of an MLP, or of its experts.
int64_t opened_width(const ModelConfig& model) {
  int64_t widest = 0;
  for (const LayerSpec& layer : model.layers) {
    const ExpertsSpec& experts = layer.experts;
    const int64_t width =
        layer.feed_forward.width > 0 ? layer.feed_forward.width : model.intermediate_size;
    widest = std::max(widest, (layer.has_mlp() ? width : 0) + experts.chosen * experts.width +
                                  experts.shared_width);
  }
  return widest;
}

/// The layer with the most values; memory for one layer is that of this one.
int64_t index_of_largest(const ModelConfig& model) {
  int64_t largest = 0, most = 0;
  for (int64_t i = 0; i < model.num_layers(); ++i) {
    std::vector<WeightSpec> weights;
    DecoderLayer::add_weights(model, i, weights);
    if (const int64_t count = num_values(weights); count > most) {
      most = count;
      largest = i;
    }
  }
  return largest;
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
      I(opened_width(model)),
      V(model.vocab_size),
      P(model.layer_input_width),
      pieces(train.base.shard ? given.world_size : 1) {
  const AdapterConfig adapter(train.lora);
  const std::string largest_layer = fmt::format("model.layers.{}.", index_of_largest(model));
  std::set<int64_t> seen;
  for (const WeightSpec& weight : weight_layout(model)) {
    const int64_t count = count_of(weight.shape);
    const bool is_linear = weight.shape.size() == 2 && weight.name.starts_with("model.layers.");
    if (is_full() && !weight.is_buffer) trained += count;
    if (!is_linear) {
      outside_values += count;
      continue;
    }
    const bool is_it = weight.name.starts_with(largest_layer);
    if (is_it) layer_values += count;
    largest_linear = std::max(largest_linear, count);
    const std::string module = weight.name.substr(0, weight.name.rfind('.'));
    if (is_full() || !weight.stacked.empty() || !adapter.matches(module)) continue;
    const int64_t rank = adapter.rank(module);
    trained += rank * (weight.shape[0] + weight.shape[1]);
    if (!is_it) continue;
    ranks += rank;
    inputs += weight.shape[1];
    if (seen.insert(weight.input).second) shared_inputs += weight.shape[1];
  }
}

int64_t PlanSizes::saved_of_layer() const {
  int64_t most = 0;
  for (const LayerSpec& layer : model.layers) most = std::max(most, saved_of(layer));
  return most;
}

int64_t PlanSizes::saved_of_layer_inputs() const {
  const int64_t all = model.num_layers() * P;
  // The result. If the second embedding is trained, also the product that the norm sees, and what
  // the norm makes of it.
  return value_size * all + (is_full() ? 2 * kFloat * all : 0);
}

int64_t PlanSizes::saved_of(const LayerSpec& layer) const {
  // Norms save their input in float32 and a scale; attention its queries, keys, values, result and
  // one number per head; the MLP its gate before and after the activation and the other factor. So
  // does the part that takes a layer's own input.
  const AttentionSpec& attention = layer.attention;
  const int64_t D = model.head_dim_of(attention), Q = model.num_heads * D;
  const int64_t K = attention.shares < 0 ? model.num_kv_heads_of(attention) * D : 0;
  const int64_t num_norms = (layer.norm_before ? 2 : 0) + (layer.norm_after ? 2 : 0) +
                            (layer.layer_input ? 1 : 0) + (layer.experts.beside_mlp ? 3 : 0);
  int64_t bytes = num_norms * kFloat * (E + 1) + kFloat * model.num_heads;
  const int64_t product_size = narrow ? kHalf : kFloat;
  bytes += product_size * (2 * Q + 2 * K + 3 * I + (layer.layer_input ? 3 * P : 0));
  if (layer.recurrence) bytes += kFloat * layer.recurrence->saved_values(model);
  if (attention.qk_norm != QkNorm::kNone) bytes += kFloat * (Q + K);
  if (attention.value_norm) bytes += kFloat * K;
  if (is_full()) {
    // The normed values before the weight, then the products' inputs: autocast makes one for each.
    bytes += kFloat * num_norms * E;
    return bytes + (narrow ? kHalf * (5 * E + Q + I) : kFloat * (2 * E + Q + I));
  }
  bytes += product_size * ranks;
  if (train.lora.dropout == 0) return bytes + product_size * shared_inputs;
  // Each adapter saves its own input and that input's factor.
  return bytes + inputs * (product_size + (plan_case.is_cuda ? 1 : product_size));
}

}  // namespace predgen::train
