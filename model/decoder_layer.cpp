#include "model/decoder_layer.h"

namespace predgen {

void DecoderLayer::add_weights(const ModelConfig& config, int64_t index,
                               std::vector<WeightSpec>& weights) {
  const LayerSpec& spec = config.layer(index);
  LayerWeights own(index, weights);
  Attention::add_weights(config, spec.attention, own);
  FeedForward::add_weights(config, spec.feed_forward, own);
  const LayerNorms norms = spec.norms();
  for (const ModuleName& name :
       {norms.before_attention, norms.after_attention, norms.before_mlp, norms.after_mlp}) {
    own.add_norm(name, config.hidden_size);
  }
}

DecoderLayer::DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight)
    : attention(config.layer(index).attention, LayerSource(index, weight)),
      feed_forward(config.layer(index).feed_forward, LayerSource(index, weight)),
      names_(config.layer(index).norms()) {
  const LayerSource source(index, weight);
  attention_norm = {source.norm(names_.before_attention), source.norm(names_.after_attention)};
  mlp_norm = {source.norm(names_.before_mlp), source.norm(names_.after_mlp)};
}

std::vector<Linear*> DecoderLayer::linears() {
  std::vector<Linear*> all;
  const auto add = [&](const auto& linears) {
    all.insert(all.end(), linears.begin(), linears.end());
  };
  add(attention.linears());
  add(feed_forward.linears());
  return all;
}

NamedTensors DecoderLayer::named_norms() const {
  NamedTensors norms;
  const auto add = [&](const ModuleName& name, const at::Tensor& norm) {
    if (norm.defined()) norms.emplace_back(weight_name(attention.layer, name), norm);
  };
  add(names_.before_attention, attention_norm.before);
  add(names_.after_attention, attention_norm.after);
  add(names_.before_mlp, mlp_norm.before);
  add(names_.after_mlp, mlp_norm.after);
  attention.add_norms(norms);
  return norms;
}

void DecoderLayer::set_width_invariant(bool on) {
  attention.width_invariant = on;
  for (Linear* linear : linears()) linear->width_invariant = on;
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                    std::span<const Rotation> rotations, const at::Tensor& mask,
                                    const at::Tensor& gate_BT1) const {
  const at::Tensor input =
      rms_norm(config, hidden_BTE, attention_norm.before, is_width_invariant());
  return add_feed_forward(config, hidden_BTE, attention(config, input, rotations, mask, gate_BT1),
                          gate_BT1);
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                                    std::span<const Rotation> rotations,
                                    std::span<CachedRows> sequences,
                                    const at::Tensor& gate_1T1) const {
  const at::Tensor input =
      rms_norm(config, hidden_1TE, attention_norm.before, is_width_invariant());
  return add_feed_forward(config, hidden_1TE,
                          attention(config, input, rotations, sequences, gate_1T1), gate_1T1);
}

at::Tensor DecoderLayer::add_feed_forward(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                          const at::Tensor& attended_BTE,
                                          const at::Tensor& gate_BT1) const {
  const auto normed = [&](const at::Tensor& input, const at::Tensor& weight) {
    return rms_norm(config, input, weight, is_width_invariant());
  };
  const at::Tensor hidden = hidden_BTE + normed(attended_BTE, attention_norm.after);
  const at::Tensor input = normed(hidden, mlp_norm.before);
  return hidden + normed(feed_forward(input, gate_BT1), mlp_norm.after);
}

}  // namespace predgen
