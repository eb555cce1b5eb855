#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/error.h"

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new, H heads, D head size, E hidden size, V
// vocabulary.

namespace {

std::string layer_name(int64_t index, const char* part) {
  return fmt::format("model.layers.{}.{}", index, part);
}
const char* attention_norm_name(const ModelConfig& config) {
  return config.norm_after ? "post_attention_layernorm.weight" : "input_layernorm.weight";
}
const char* mlp_norm_name(const ModelConfig& config) {
  return config.norm_after ? "post_feedforward_layernorm.weight"
                           : "post_attention_layernorm.weight";
}

std::map<std::string, std::vector<int64_t>> weight_shapes(const ModelConfig& config) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (WeightSpec& spec : weight_layout(config)) shapes[spec.name] = std::move(spec.shape);
  return shapes;
}

/// Rotates pairs (x[i], x[i + D/2]), the layout of Hugging Face checkpoints.
at::Tensor rotate(const at::Tensor& x_BHTD, const at::Tensor& cos, const at::Tensor& sin) {
  const auto halves = x_BHTD.chunk(2, -1);
  return x_BHTD * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

/// Which keys each query sees, by window; made once for all layers of a pass. Query i of T, behind
/// `past` cached positions, sees keys 0..past+i. is_causal of scaled_dot_product_attention aligns
/// top-left, which is wrong for T < S.
class Masks {
 public:
  /// `positions_BT`: of the keys, where they are not their places in the row; else undefined.
  Masks(const at::Tensor& given, const at::Tensor& positions_BT, int64_t num_new, int64_t past,
        at::Device device)
      : given_(given),
        positions_BT_(positions_BT),
        num_new_(num_new),
        past_(past),
        options_(at::TensorOptions(at::kBool).device(device)) {}

  /// Undefined if is_causal, or nothing at all for a single query, says the same.
  const at::Tensor& operator()(int64_t window) {
    const bool slides = window > 0 && past_ + num_new_ > window;
    const auto [place, is_new] = masks_.try_emplace(slides ? window : 0);
    if (is_new) place->second = make(slides ? window : 0);
    return place->second;
  }

 private:
  at::Tensor make(int64_t window) const {
    const bool plain = num_new_ == 1 || past_ == 0;
    if (window == 0 && (given_.defined() || plain)) return given_;
    if (positions_BT_.defined()) {
      const at::Tensor distance_BTT = positions_BT_.unsqueeze(2) - positions_BT_.unsqueeze(1);
      return given_ & (distance_BTT < window).unsqueeze(1);
    }
    at::Tensor seen_TS = at::ones({num_new_, past_ + num_new_}, options_).tril(past_);
    if (window > 0) seen_TS = seen_TS.triu(past_ + 1 - window);
    return given_.defined() ? given_ & seen_TS : seen_TS;
  }

  const at::Tensor given_, positions_BT_;
  const int64_t num_new_, past_;
  const at::TensorOptions options_;
  std::map<int64_t, at::Tensor> masks_;
};

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
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const auto in_layer = [&](const char* part) { return layer_name(i, part); };
    const auto take_linear = [&](const char* module) {
      Linear linear;
      linear.name = in_layer(module);
      linear.weight = take(linear.name + ".weight");
      linear.bias = take(linear.name + ".bias");
      return linear;
    };
    Layer layer;
    layer.attention_norm = take(in_layer(attention_norm_name(config)));
    layer.q = take_linear("self_attn.q_proj");
    layer.k = take_linear("self_attn.k_proj");
    layer.v = take_linear("self_attn.v_proj");
    layer.o = take_linear("self_attn.o_proj");
    layer.q_norm = take(in_layer("self_attn.q_norm.weight"));
    layer.k_norm = take(in_layer("self_attn.k_norm.weight"));
    layer.mlp_norm = take(in_layer(mlp_norm_name(config)));
    layer.gate = take_linear("mlp.gate_proj");
    layer.up = take_linear("mlp.up_proj");
    layer.down = take_linear("mlp.down_proj");
    if (!config.windows.empty()) layer.window = config.windows[static_cast<size_t>(i)];
    layers_.push_back(std::move(layer));
  }
  final_norm_ = take("model.norm.weight");
  head_ = config.tie_word_embeddings ? embedding_ : take("lm_head.weight");
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

Transformer::Rotation Transformer::rotation(const at::Tensor& positions_BT,
                                            at::ScalarType type) const {
  const at::Tensor angles =
      (positions_BT.to(at::kFloat).unsqueeze(-1) * inverse_frequencies_).repeat({1, 1, 2});
  const auto scaled = [&](const at::Tensor& wave) {
    const double factor = config_.rope.attention_factor;
    return (factor == 1.0 ? wave : wave * factor).unsqueeze(1).to(type);
  };
  return {scaled(angles.cos()), scaled(angles.sin())};
}

at::Tensor Transformer::norm(const at::Tensor& input, const at::Tensor& weight) const {
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + config_.rms_norm_eps);
  if (config_.norm_scales_wide) return (wide * scale * weight).to(input.scalar_type());
  return (wide * scale).to(input.scalar_type()) * weight;
}

at::Tensor Transformer::attention(const Layer& layer, int64_t index, const at::Tensor& input_BTE,
                                  const Rotation& rotation, const at::Tensor& mask,
                                  KvCache* cache) const {
  const int64_t B = input_BTE.size(0), T = input_BTE.size(1), D = config_.head_dim;
  const auto project = [&](const Linear& linear, const at::Tensor& norm_weight, int64_t count) {
    at::Tensor x = linear(input_BTE);
    if (config_.qk_norm == QkNorm::kWidth && norm_weight.defined()) x = norm(x, norm_weight);
    x = x.view({B, T, count, D});
    if (config_.qk_norm == QkNorm::kHead && norm_weight.defined()) x = norm(x, norm_weight);
    return x.transpose(1, 2);
  };
  const at::Tensor queries = project(layer.q, layer.q_norm, config_.num_heads);
  at::Tensor keys = rotate(project(layer.k, layer.k_norm, config_.num_kv_heads), rotation.cos,
                           rotation.sin);
  at::Tensor values = project(layer.v, {}, config_.num_kv_heads);
  if (cache) std::tie(keys, values) = cache->append(index, keys, values);
  const at::Tensor attended = at::scaled_dot_product_attention(
      rotate(queries, rotation.cos, rotation.sin), keys, values,
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0,
      /*is_causal=*/!mask.defined() && T > 1, std::nullopt,
      /*enable_gqa=*/config_.num_kv_heads != config_.num_heads);
  return layer.o(attended.transpose(1, 2).reshape({B, T, config_.num_heads * D}));
}

at::Tensor Transformer::run(const at::Tensor& tokens_BT, const at::Tensor& positions_BT,
                            const at::Tensor& mask, KvCache* cache) const {
  const bool packed = !cache && mask.defined();
  Masks masks(mask, packed ? positions_BT : at::Tensor(), tokens_BT.size(1),
              cache ? cache->length() : 0, device());
  const Rotation rotation = this->rotation(positions_BT, dtype());
  const bool before = !config_.norm_after;
  const auto normed_if = [&](bool wanted, const at::Tensor& input, const at::Tensor& weight) {
    return wanted ? norm(input, weight) : input;
  };
  at::Tensor hidden = at::embedding(embedding_, tokens_BT);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const at::Tensor attended =
        attention(layer, static_cast<int64_t>(i), normed_if(before, hidden, layer.attention_norm),
                  rotation, masks(layer.window), cache);
    hidden = hidden + normed_if(!before, attended, layer.attention_norm);
    const at::Tensor input = normed_if(before, hidden, layer.mlp_norm);
    const at::Tensor output = layer.down(at::silu(layer.gate(input)) * layer.up(input));
    hidden = hidden + normed_if(!before, output, layer.mlp_norm);
  }
  return norm(hidden, final_norm_);
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
  return at::linear(hidden, head_).to(at::kFloat);
}

std::map<std::string, at::Tensor> Transformer::named_weights() const {
  std::map<std::string, at::Tensor> weights{{"model.embed_tokens.weight", embedding_},
                                            {"model.norm.weight", final_norm_}};
  if (!config_.tie_word_embeddings) weights["lm_head.weight"] = head_;
  for (const Linear* linear : linears()) {
    PREDGEN_CHECK(linear->weight.defined(), "{} is quantised", linear->name);
    weights[linear->name + ".weight"] = linear->weight;
    if (linear->bias.defined()) weights[linear->name + ".bias"] = linear->bias;
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto add = [&](const char* part, const at::Tensor& tensor) {
      if (tensor.defined()) weights[layer_name(static_cast<int64_t>(i), part)] = tensor;
    };
    add(attention_norm_name(config_), layers_[i].attention_norm);
    add(mlp_norm_name(config_), layers_[i].mlp_norm);
    add("self_attn.q_norm.weight", layers_[i].q_norm);
    add("self_attn.k_norm.weight", layers_[i].k_norm);
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

double Transformer::quantize(Quantization kind) {
  double error = 0.0;
  for (Linear* linear : linears()) {
    linear->quantized =
        std::make_shared<QuantizedWeight>(linear->weight, kind, device(), linear->name);
    linear->weight = at::Tensor();
    error += linear->quantized->relative_error();
  }
  return error / static_cast<double>(linears().size());
}

void Transformer::set_adapter_enabled(bool enabled) {
  for (Linear* linear : linears()) linear->adapter_enabled = enabled;
}

}  // namespace predgen
