#include "model/parts/decoder_layer.h"

#include "core/error.h"

namespace predgen {
namespace {

std::optional<Attention> attention_of(const ModelConfig& config, int64_t index,
                                      const LayerSource& source) {
  const LayerSpec& spec = config.layer(index);
  if (spec.recurrence) return {};
  return Attention(spec.attention, config.place(index), source);
}

std::unique_ptr<RecurrentPart> recurrence_of(const ModelConfig& config, int64_t index,
                                             const LayerSource& source) {
  const LayerSpec& spec = config.layer(index);
  return spec.recurrence ? spec.recurrence->make(source) : nullptr;
}

std::optional<FeedForward> mlp_of(const LayerSpec& spec, const LayerSource& source) {
  if (!spec.has_mlp()) return {};
  return FeedForward(spec.feed_forward, source);
}

std::optional<Experts> experts_of(const LayerSpec& spec, const LayerSource& source) {
  if (spec.experts.count == 0) return {};
  return Experts(spec.experts, source);
}

std::optional<LayerInput> input_of(const LayerSpec& spec, const LayerSource& source) {
  if (!spec.layer_input) return {};
  return LayerInput(source);
}

constexpr ModuleName kOutputScale{"layer_scalar", "layer_output_scale.weight"};

}  // namespace

void DecoderLayer::add_weights(const ModelConfig& config, int64_t index,
                               std::vector<WeightSpec>& weights) {
  const LayerSpec& spec = config.layer(index);
  LayerWeights own(index, weights);
  if (spec.recurrence) {
    spec.recurrence->add_weights(config, own);
  } else {
    Attention::add_weights(config, spec.attention, own);
  }
  if (spec.has_mlp()) FeedForward::add_weights(config, spec.feed_forward, own);
  if (spec.experts.count > 0) Experts::add_weights(config, spec.experts, own);
  const LayerNorms norms = spec.norms();
  for (const ModuleName& name :
       {norms.before_attention, norms.after_attention, norms.before_mlp, norms.after_mlp,
        norms.after_mlp_alone, norms.after_experts, norms.before_experts}) {
    own.add_norm(name, config.hidden_size);
  }
  if (spec.output_scale) {
    own.add_tensor(kOutputScale, {.name = {}, .shape = {1}, .is_factor = true, .is_buffer = true});
  }
  if (spec.layer_input) LayerInput::add_weights(config, own);
}

DecoderLayer::DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight)
    : DecoderLayer(config, index, LayerSource(index, weight)) {}

DecoderLayer::DecoderLayer(const ModelConfig& config, int64_t index, const LayerSource& source)
    : attention(attention_of(config, index, source)),
      recurrence(recurrence_of(config, index, source)),
      feed_forward(mlp_of(config.layer(index), source)),
      experts(experts_of(config.layer(index), source)),
      layer_input(input_of(config.layer(index), source)),
      index_(index),
      place_(config.place(index)),
      names_(config.layer(index).norms()) {
  attention_norm = {source.norm(names_.before_attention), source.norm(names_.after_attention)};
  mlp_norm = {source.norm(names_.before_mlp), source.norm(names_.after_mlp)};
  norm_after_mlp_alone = source.norm(names_.after_mlp_alone);
  experts_norm = {source.norm(names_.before_experts), source.norm(names_.after_experts)};
  if (config.layer(index).output_scale) output_scale = source.tensor(kOutputScale);
}

std::vector<Linear*> DecoderLayer::linears() {
  std::vector<Linear*> all;
  const auto add = [&](const auto& some) { all.insert(all.end(), some.begin(), some.end()); };
  if (attention) add(attention->linears());
  if (recurrence) add(recurrence->linears());
  if (feed_forward) add(feed_forward->linears());
  if (experts) add(experts->linears());
  if (layer_input) add(layer_input->linears());
  return all;
}

NamedTensors DecoderLayer::named_others() const {
  NamedTensors others;
  const auto add = [&](const ModuleName& name, const at::Tensor& norm) {
    if (norm.defined()) others.emplace_back(weight_name(index_, name), norm);
  };
  add(names_.before_attention, attention_norm.before);
  add(names_.after_attention, attention_norm.after);
  add(names_.before_mlp, mlp_norm.before);
  add(names_.after_mlp, mlp_norm.after);
  add(names_.after_mlp_alone, norm_after_mlp_alone);
  add(names_.after_experts, experts_norm.after);
  add(names_.before_experts, experts_norm.before);
  if (attention) attention->add_others(others);
  if (experts) experts->add_others(others);
  if (recurrence) recurrence->add_others(others);
  if (layer_input) layer_input->add_others(others);
  if (output_scale.defined()) {
    others.emplace_back(tensor_name(index_, kOutputScale), output_scale);
  }
  return others;
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                    std::span<const Rotation> rotations, const at::Tensor& mask,
                                    const at::Tensor& gate_BT1, SideInputs* side) const {
  const at::Tensor input = rms_norm(config, hidden_BTE, attention_norm.before);
  PREDGEN_CHECK(attention || !mask.defined(), "packed rows in a layer that keeps a state");
  const at::Tensor mixed = attention ? (*attention)(config, input, rotations, mask, gate_BT1,
                                                    side ? &side->shared : nullptr)
                                     : (*recurrence)(input, gate_BT1);
  return add_feed_forward(config, hidden_BTE, mixed, gate_BT1,
                          side ? side->layer_inputs_BTLP : at::Tensor());
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                                    std::span<const Rotation> rotations,
                                    std::span<CachedRows> sequences, const at::Tensor& gate_1T1,
                                    const at::Tensor& layer_inputs_1TLP) const {
  const at::Tensor input = rms_norm(config, hidden_1TE, attention_norm.before);
  const at::Tensor mixed = attention ? (*attention)(config, input, rotations, sequences, gate_1T1)
                                     : (*recurrence)(input, place_, sequences, gate_1T1);
  return add_feed_forward(config, hidden_1TE, mixed, gate_1T1, layer_inputs_1TLP);
}

at::Tensor DecoderLayer::add_feed_forward(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                          const at::Tensor& mixed_BTE, const at::Tensor& gate_BT1,
                                          const at::Tensor& layer_inputs_BTLP) const {
  const auto normed = [&](const at::Tensor& input, const at::Tensor& weight) {
    return rms_norm(config, input, weight);
  };
  const at::Tensor hidden = hidden_BTE + normed(mixed_BTE, attention_norm.after);
  const at::Tensor input = normed(hidden, mlp_norm.before);
  at::Tensor output;
  if (!experts) {
    output = (*feed_forward)(input, gate_BT1);
  } else if (!feed_forward) {
    output = (*experts)(config, input, input, gate_BT1);
  } else {
    const at::Tensor of_experts =
        (*experts)(config, normed(hidden, experts_norm.before), hidden, gate_BT1);
    output = normed((*feed_forward)(input, gate_BT1), norm_after_mlp_alone) +
             normed(of_experts, experts_norm.after);
  }
  at::Tensor result = hidden + normed(output, mlp_norm.after);
  if (layer_input) {
    result = result + (*layer_input)(config, result, layer_inputs_BTLP.select(2, index_), gate_BT1);
  }
  return output_scale.defined() ? result * output_scale : result;
}

}  // namespace predgen
