#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "model/attention_masks.h"

namespace predgen {

// Shapes: B rows, T new tokens, E hidden size, V vocabulary.

namespace {

std::map<std::string, std::vector<int64_t>> weight_shapes(const ModelConfig& config) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (WeightSpec& spec : weight_layout(config)) shapes[spec.name] = std::move(spec.shape);
  return shapes;
}

}  // namespace

Transformer::Transformer(const ModelConfig& config,
                         const std::function<at::Tensor(const std::string&)>& weight)
    : config_(config) {
  const std::map<std::string, std::vector<int64_t>> shapes = weight_shapes(config);
  const auto take = [&](const std::string& name) {  // undefined if this model has none
    const auto spec = shapes.find(name);
    if (spec == shapes.end()) return at::Tensor();
    at::Tensor tensor = weight(name);
    if (tensor.sizes() != at::IntArrayRef(spec->second)) {
      throw UserError("tensor {} has shape {}, config.json wants {}", name,
                      c10::str(tensor.sizes()), c10::str(at::IntArrayRef(spec->second)));
    }
    return tensor;
  };
  embedding_ = take("model.embed_tokens.weight");
  for (int64_t i = 0; i < config.num_layers; ++i) layers_.emplace_back(config, i, take);
  final_norm_ = take("model.norm.weight");
  head_.name = "lm_head";
  head_.weight = config.tie_word_embeddings ? embedding_ : take("lm_head.weight");
  inverse_frequencies_ = config.rope.inverse_frequencies(config.head_dim).to(embedding_.device());
}

std::unique_ptr<Transformer> Transformer::initialize(const ModelConfig& config, uint64_t seed,
                                                     const at::TensorOptions& options) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::map<std::string, std::vector<int64_t>> shapes = weight_shapes(config);
  return std::make_unique<Transformer>(config, [&](const std::string& name) {
    const std::vector<int64_t>& shape = shapes.at(name);
    if (name.find("norm") != std::string::npos) return at::ones(shape, options);
    if (name.ends_with(".bias")) return at::zeros(shape, options);
    return at::empty(shape, at::kFloat)
        .normal_(0.0, config.initializer_range, generator)
        .to(options);
  });
}

std::unique_ptr<KvCache> Transformer::make_cache(int64_t batch_size, int64_t capacity) const {
  return std::make_unique<KvCache>(KvCache::Shape{config_.num_layers, batch_size,
                                                  config_.num_kv_heads, capacity, config_.head_dim},
                                   embedding_.options().requires_grad(false));
}

at::Tensor Transformer::run(const at::Tensor& tokens_BT, const at::Tensor& positions_BT,
                            const at::Tensor& mask, KvCache* cache) const {
  const bool packed = !cache && mask.defined();
  const int64_t num_folded = device().is_cuda() ? config_.num_heads / config_.num_kv_heads : 1;
  AttentionMasks masks(mask, packed ? positions_BT : at::Tensor(), tokens_BT.size(1),
                       cache ? cache->length() : 0, num_folded, device());
  const Rotation rotation(config_.rope, inverse_frequencies_, positions_BT, dtype());
  at::Tensor hidden = at::embedding(embedding_, tokens_BT);
  for (const DecoderLayer& layer : layers_) {
    hidden = layer(config_, hidden, rotation, masks(layer.window), cache);
  }
  return rms_norm(config_, hidden, final_norm_);
}

at::Tensor Transformer::forward(const ForwardInput& input, KvCache& cache) const {
  const at::NoGradGuard no_grad;
  const at::Tensor tokens_BT = input.tokens_BT.to(device());
  const int64_t T = tokens_BT.size(1), past = cache.length();
  PREDGEN_CHECK(T >= 1 && tokens_BT.size(0) == cache.batch_size(),
                "tokens {} for a cache of {} rows", c10::str(tokens_BT.sizes()),
                cache.batch_size());
  const at::Tensor positions_BT =
      input.positions_BT.defined()
          ? input.positions_BT.to(device())
          : at::arange(past, past + T, tokens_BT.options()).expand({tokens_BT.size(0), T});
  const at::Tensor& given = input.attention_mask_B1TS;
  at::Tensor hidden =
      run(tokens_BT, positions_BT, given.defined() ? given.to(device()) : given, &cache);
  cache.commit(T);
  if (input.num_logits > 0) hidden = hidden.narrow(1, T - input.num_logits, input.num_logits);
  return logits(hidden);
}

at::Tensor Transformer::hidden_states(const at::Tensor& tokens_BT, const at::Tensor& positions_BT,
                                      const at::Tensor& seen_B1TT) const {
  const at::Tensor tokens = tokens_BT.to(device());
  if (seen_B1TT.defined()) return run(tokens, positions_BT, seen_B1TT, nullptr);
  const int64_t T = tokens.size(1);
  const at::Tensor positions = at::arange(T, tokens.options()).expand({tokens.size(0), T});
  return run(tokens, positions, {}, nullptr);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return head_(hidden).to(at::kFloat);
}

std::map<std::string, at::Tensor> Transformer::named_weights() const {
  std::map<std::string, at::Tensor> weights{{"model.embed_tokens.weight", embedding_},
                                            {"model.norm.weight", final_norm_}};
  if (!config_.tie_word_embeddings) weights["lm_head.weight"] = head_.weight;
  for (const Linear* linear : linears()) {
    PREDGEN_CHECK(linear->weight.defined(), "{} is quantised", linear->name);
    weights[linear->name + ".weight"] = linear->weight;
    if (linear->bias.defined()) weights[linear->name + ".bias"] = linear->bias;
  }
  for (const DecoderLayer& layer : layers_) weights.merge(layer.norms(config_));
  return weights;
}

std::vector<Linear*> Transformer::linears() {
  std::vector<Linear*> all;
  for (DecoderLayer& layer : layers_) {
    const auto own = layer.linears();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<const Linear*> Transformer::linears() const {
  const std::vector<Linear*> all = const_cast<Transformer*>(this)->linears();
  return {all.begin(), all.end()};
}

void Transformer::set_training(bool training) {
  for (Linear* linear : linears()) linear->training = training;
}

double Transformer::quantize(Quantization kind,
                             const std::function<void(const std::string&)>& packed) {
  std::vector<Linear*> quantizable = linears();
  if (!config_.tie_word_embeddings) quantizable.push_back(&head_);
  double error = 0.0;
  for (Linear* linear : quantizable) {
    const std::string name = linear->name + ".weight";
    linear->quantized = std::make_shared<QuantizedWeight>(
        linear->weight, quantization_of(name, kind), device(), linear->name);
    linear->weight = at::Tensor();
    error += linear->quantized->relative_error();
    packed(name);
  }
  return error / static_cast<double>(quantizable.size());
}

void Transformer::set_adapter_enabled(bool enabled) {
  for (Linear* linear : linears()) linear->adapter_enabled = enabled;
}

}  // namespace predgen
