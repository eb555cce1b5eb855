#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/error.h"

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new, H heads, D head size, E hidden size, V
// vocabulary.

namespace {

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + eps);
  return (wide * scale).to(input.scalar_type()) * weight;
}

/// Rotates pairs (x[i], x[i + D/2]), the layout of Hugging Face checkpoints.
at::Tensor rotate(const at::Tensor& x_BHTD, const at::Tensor& cos, const at::Tensor& sin) {
  const auto halves = x_BHTD.chunk(2, -1);
  return x_BHTD * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

/// Query i of T, behind `past` cached positions, sees keys 0..past+i. is_causal of
/// scaled_dot_product_attention aligns top-left, which is wrong for T < S.
at::Tensor causal_mask(int64_t num_new, int64_t past, at::Device device) {
  return at::ones({num_new, past + num_new}, at::TensorOptions(at::kBool).device(device))
      .tril(past);
}

}  // namespace

Transformer::Transformer(const ModelConfig& config,
                         const std::function<at::Tensor(const std::string&)>& weight)
    : config_(config) {
  const int64_t E = config.hidden_size, D = config.head_dim;
  const auto take = [&](const std::string& name, at::IntArrayRef shape) {
    at::Tensor tensor = weight(name);
    if (tensor.sizes() != shape) {
      throw UserError("tensor {} has shape {}, config.json wants {}", name,
                      c10::str(tensor.sizes()), c10::str(shape));
    }
    return tensor;
  };
  const auto take_linear = [&](const std::string& name, int64_t out, int64_t in, bool bias) {
    Linear linear;
    linear.name = name;
    linear.weight = take(name + ".weight", {out, in});
    if (bias) linear.bias = take(name + ".bias", {out});
    return linear;
  };
  embedding_ = take("model.embed_tokens.weight", {config.vocab_size, E});
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i);
    const std::string attention = prefix + ".self_attn.", mlp = prefix + ".mlp.";
    const int64_t q_size = config.num_heads * D, kv_size = config.num_kv_heads * D;
    Layer layer;
    layer.attention_norm = take(prefix + ".input_layernorm.weight", {E});
    layer.mlp_norm = take(prefix + ".post_attention_layernorm.weight", {E});
    layer.q = take_linear(attention + "q_proj", q_size, E, config.qkv_bias);
    layer.k = take_linear(attention + "k_proj", kv_size, E, config.qkv_bias);
    layer.v = take_linear(attention + "v_proj", kv_size, E, config.qkv_bias);
    layer.o = take_linear(attention + "o_proj", E, q_size, false);
    layer.gate = take_linear(mlp + "gate_proj", config.intermediate_size, E, false);
    layer.up = take_linear(mlp + "up_proj", config.intermediate_size, E, false);
    layer.down = take_linear(mlp + "down_proj", E, config.intermediate_size, false);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = take("model.norm.weight", {E});
  head_ = config.tie_word_embeddings ? embedding_ : take("lm_head.weight", {config.vocab_size, E});
  const at::Tensor exponents = at::arange(0, D, 2, at::kFloat) / static_cast<double>(D);
  inverse_frequencies_ = at::pow(config.rope_theta, exponents).reciprocal().to(embedding_.device());
}

std::unique_ptr<Transformer> Transformer::initialize(const ModelConfig& config, uint64_t seed,
                                                     const at::TensorOptions& options) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const int64_t E = config.hidden_size, I = config.intermediate_size, D = config.head_dim;
  const auto shape_of = [&](const std::string& name) -> std::vector<int64_t> {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const int64_t q_size = config.num_heads * D, kv_size = config.num_kv_heads * D;
    if (has("embed_tokens") || has("lm_head")) return {config.vocab_size, E};
    if (has("norm")) return {E};
    if (has("o_proj")) return {E, q_size};
    if (has("down_proj")) return {E, I};
    const int64_t rows = has("mlp") ? I : has("q_proj") ? q_size : kv_size;
    return has(".bias") ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, E};
  };
  return std::make_unique<Transformer>(config, [&](const std::string& name) {
    const std::vector<int64_t> shape = shape_of(name);
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
                            const at::Tensor& attention_mask, KvCache* cache) const {
  const int64_t B = tokens_BT.size(0), T = tokens_BT.size(1), D = config_.head_dim;
  at::Tensor hidden = at::embedding(embedding_, tokens_BT);
  const at::Tensor angles =
      (positions_BT.to(at::kFloat).unsqueeze(-1) * inverse_frequencies_).repeat({1, 1, 2});
  const at::Tensor cos = angles.cos().unsqueeze(1), sin = angles.sin().unsqueeze(1);  // [B,1,T,D]
  const auto heads = [&](const at::Tensor& x, int64_t count) {
    return x.view({B, T, count, D}).transpose(1, 2);
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const at::Tensor normed = rms_norm(hidden, layer.attention_norm, config_.rms_norm_eps);
    const at::Tensor queries = heads(layer.q(normed), config_.num_heads);
    const at::ScalarType type = queries.scalar_type();
    const at::Tensor cos_typed = cos.to(type), sin_typed = sin.to(type);
    at::Tensor keys = rotate(heads(layer.k(normed), config_.num_kv_heads), cos_typed, sin_typed);
    at::Tensor values = heads(layer.v(normed), config_.num_kv_heads);
    if (cache) std::tie(keys, values) = cache->append(static_cast<int64_t>(i), keys, values);
    const at::Tensor attended = at::scaled_dot_product_attention(
        rotate(queries, cos_typed, sin_typed), keys, values,
        attention_mask.defined() ? std::optional<at::Tensor>(attention_mask) : std::nullopt, 0.0,
        /*is_causal=*/!cache, std::nullopt,
        /*enable_gqa=*/config_.num_kv_heads != config_.num_heads);
    hidden = hidden + layer.o(attended.transpose(1, 2).reshape({B, T, config_.num_heads * D}));
    const at::Tensor wide = rms_norm(hidden, layer.mlp_norm, config_.rms_norm_eps);
    hidden = hidden + layer.down(at::silu(layer.gate(wide)) * layer.up(wide));
  }
  return rms_norm(hidden, final_norm_, config_.rms_norm_eps);
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
  at::Tensor mask = input.attention_mask_B1TS;
  if (mask.defined()) {
    mask = mask.to(device());
  } else if (T > 1) {
    mask = causal_mask(T, past, device());
  }
  at::Tensor hidden = run(tokens_BT, positions_BT, mask, &cache);
  cache.commit(T);
  if (input.num_logits > 0) hidden = hidden.narrow(1, T - input.num_logits, input.num_logits);
  return logits(hidden);
}

at::Tensor Transformer::hidden_states(const at::Tensor& tokens_BT) const {
  const at::Tensor tokens = tokens_BT.to(device());
  const int64_t T = tokens.size(1);
  const at::Tensor positions = at::arange(T, tokens.options()).expand({tokens.size(0), T});
  return run(tokens, positions, {}, nullptr);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return at::linear(hidden, head_).to(at::kFloat);
}

std::map<std::string, at::Tensor> Transformer::named_weights() const {
  std::map<std::string, at::Tensor> weights{{"model.embed_tokens.weight", embedding_},
                                            {"model.norm.weight", final_norm_}};
  if (!config_.tie_word_embeddings) weights["lm_head.weight"] = head_;
  for (const Linear* linear : linears()) {
    weights[linear->name + ".weight"] = linear->weight;
    if (linear->bias.defined()) weights[linear->name + ".bias"] = linear->bias;
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string prefix = "model.layers." + std::to_string(i);
    weights[prefix + ".input_layernorm.weight"] = layers_[i].attention_norm;
    weights[prefix + ".post_attention_layernorm.weight"] = layers_[i].mlp_norm;
  }
  return weights;
}

std::vector<Linear*> Transformer::linears() {
  std::vector<Linear*> all;
  for (Layer& layer : layers_) {
    all.insert(all.end(),
               {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down});
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

}  // namespace predgen
