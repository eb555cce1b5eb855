#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// Layers of Llama's, OLMo 2's and Gemma's kind.
enum class Kind { kNormBefore, kNormAfter, kGemma };
inline constexpr Kind kKinds[] = {Kind::kNormBefore, Kind::kNormAfter, Kind::kGemma};

inline std::string kind_name(const testing::TestParamInfo<Kind>& test) {
  static const char* const names[] = {"NormBefore", "NormAfter", "Gemma"};
  return names[static_cast<size_t>(test.param)];
}

/// Positions that each layer sees; 0: all.
inline void set_windows(ModelConfig& config, const std::vector<int64_t>& windows) {
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].attention.window = windows[i];
  }
}

/// Makes the two layers Gemma's; only the second has a window, and positions that turn faster.
inline void make_gemma(ModelConfig& config) {
  const LayerSpec layer{.attention = {.qk_norm = QkNorm::kHead, .query_scalar = 20.0},
                        .feed_forward = {.activation = Activation::kGeluTanh},
                        .norm_after = true};
  config.layers = {layer, layer};
  config.layers[1].attention.window = 7;
  config.layers[1].attention.rope = 1;
  config.ropes = {{.theta = 1e6}, {.theta = 100.0}};
  config.norm_scales_wide = true;
  config.norm_offset = 1.0;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
}

inline void make_kind(ModelConfig& config, Kind kind) {
  if (kind == Kind::kGemma) return make_gemma(config);
  const bool after = kind == Kind::kNormAfter;
  const LayerSpec layer{.attention = {.qk_norm = after ? QkNorm::kWidth : QkNorm::kHead},
                        .norm_before = !after,
                        .norm_after = after};
  config.layers = {layer, layer};
  config.norm_scales_wide = after;
}

/// The first layer has Qwen's experts and one for all tokens, the second gpt-oss', with sinks.
inline ModelConfig experts_config() {
  ModelConfig config = small_config();
  LayerSpec layer{.attention = {.qk_norm = QkNorm::kHead}};
  layer.experts = {.count = 6, .chosen = 3, .width = 32, .is_normalised = true, .shared_width = 32};
  config.layers = {layer, layer};
  AttentionSpec& attention = config.layers[1].attention;
  attention.sinks = attention.qkv_bias = attention.o_bias = true;
  attention.window = 19;
  config.layers[1].experts = {.count = 5,
                              .chosen = 2,
                              .width = 32,
                              .routing = Routing::kSoftmaxOfChosen,
                              .router_bias = true,
                              .activation = Activation::kClampedSwiglu,
                              .bias = true,
                              .storage = ExpertStorage::kInterleaved};
  return config;
}

/// Gemma 4 with all that it has: two kinds of layers, the last of each reads the keys and values of
/// the first; inputs by layer; experts beside the MLPs.
inline ModelConfig gemma4_config() {
  ModelConfig config = small_config();
  config.intermediate_size = 64;  // which 4 bits take
  LayerSpec sliding{.attention = {.qk_norm = QkNorm::kHead,
                                  .query_scalar = 1.0,
                                  .window = 19,
                                  .rope = 1,
                                  .value_norm = true},
                    .feed_forward = {.activation = Activation::kGeluTanh},
                    .layer_input = true,
                    .output_scale = true,
                    .norm_after = true};
  sliding.experts = {.count = 6,
                     .chosen = 3,
                     .width = 32,
                     .is_normalised = true,
                     .input_scale = true,
                     .expert_scale = true,
                     .activation = Activation::kGeluTanh,
                     .beside_mlp = true};
  LayerSpec full = sliding;
  full.attention.window = full.attention.rope = 0;
  full.attention.head_dim = 2 * config.head_dim;
  full.attention.num_kv_heads = 1;
  full.attention.value_is_key = true;
  config.layers = {sliding, full, sliding, full};
  config.layers[2].attention.shares = 0;
  config.layers[3].attention.shares = 1;
  config.layers[3].feed_forward.width = 2 * config.intermediate_size;
  config.ropes = {{.kind = RopeKind::kProportional,
                   .theta = 1e4,
                   .proportion = 0.5,
                   .own_head_dim = 2 * config.head_dim},
                  {.theta = 100.0}};
  config.layer_input_width = 16;
  config.norm_scales_wide = true;
  config.logit_softcap = 3.0;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  return config;
}

inline ModelConfig llama_config() {
  ModelConfig config = small_config();
  config.layers = {LayerSpec{}, LayerSpec{}};
  return config;
}

/// Llama with one switch on, for each of them, by its name.
inline std::vector<std::pair<std::string, ModelConfig>> one_switch_each() {
  // Does not compile when a part has another field, which then needs a switch here.
  [[maybe_unused]] const auto& [attention, recurrence, feed_forward, experts, layer_input,
                                output_scale, norm_before, norm_after, mlp_norm, own_norms] =
      LayerSpec{};
  [[maybe_unused]] const auto& [qk_norm, qkv_bias, o_bias, output_gate, query_scalar, softcap,
                                sinks, window, rope, head_dim, num_kv_heads, shares, value_is_key,
                                value_norm, attention_names] = AttentionSpec{};
  [[maybe_unused]] const auto& [activation, bias, width, names] = FeedForwardSpec{};
  std::vector<std::pair<std::string, ModelConfig>> configs;
  const auto add = [&](const char* name, auto change) {
    ModelConfig config = llama_config();
    change(config);
    configs.emplace_back(name, config);
  };
  const auto add_layers = [&](const char* name, auto change) {
    add(name, [&](ModelConfig& config) {
      for (LayerSpec& layer : config.layers) change(layer);
    });
  };
  const auto add_attention = [&](const char* name, auto change) {
    add_layers(name, [&](LayerSpec& layer) { change(layer.attention); });
  };
  add_layers("gelu_tanh",
             [](LayerSpec& layer) { layer.feed_forward.activation = Activation::kGeluTanh; });
  add_layers("no norm_before", [](LayerSpec& layer) { layer.norm_before = false; });
  add_layers("norm_after", [](LayerSpec& layer) { layer.norm_after = true; });
  add("norm_offset", [](ModelConfig& config) { config.norm_offset = 1.0; });
  add("norm_scales_wide", [](ModelConfig& config) { config.norm_scales_wide = true; });
  add_attention("qk_norm by head", [](AttentionSpec& spec) { spec.qk_norm = QkNorm::kHead; });
  add_attention("qk_norm by width", [](AttentionSpec& spec) { spec.qk_norm = QkNorm::kWidth; });
  add_attention("qkv_bias", [](AttentionSpec& spec) { spec.qkv_bias = true; });
  add_attention("o_bias", [](AttentionSpec& spec) { spec.o_bias = true; });
  add_layers("mlp_bias", [](LayerSpec& layer) { layer.feed_forward.bias = true; });
  add_layers("mlp_width", [](LayerSpec& layer) { layer.feed_forward.width = 24; });
  add_layers("experts",
             [](LayerSpec& layer) { layer.experts = {.count = 4, .chosen = 2, .width = 16}; });
  add_layers("experts beside an MLP", [](LayerSpec& layer) {
    layer.norm_after = true;
    layer.experts = {.count = 4,
                     .chosen = 2,
                     .width = 16,
                     .input_scale = true,
                     .expert_scale = true,
                     .beside_mlp = true};
  });
  add_attention("attention_sinks", [](AttentionSpec& spec) { spec.sinks = true; });
  add_attention("query_scalar", [](AttentionSpec& spec) { spec.query_scalar = 50.0; });
  add_attention("attention_softcap", [](AttentionSpec& spec) { spec.softcap = 0.5; });
  add("logit_softcap", [](ModelConfig& config) { config.logit_softcap = 1.0; });
  add("embedding_scale", [](ModelConfig& config) { config.embedding_scale = 5.0; });
  add("another rope", [](ModelConfig& config) {
    config.ropes.push_back({.theta = 100.0});
    config.layers[1].attention.rope = 1;
  });
  add_attention("gate of attention's output", [](AttentionSpec& spec) { spec.output_gate = true; });
  add("heads that turn in part", [](ModelConfig& config) { config.ropes.front().share = 0.5; });
  add("heads by layer", [](ModelConfig& config) {
    config.layers[1].attention.head_dim = 2 * config.head_dim;
    config.layers[1].attention.num_kv_heads = 1;
    config.layers[1].attention.rope = 1;
    config.ropes.push_back({.theta = 100.0, .own_head_dim = 2 * config.head_dim});
  });
  add("shared keys and values", [](ModelConfig& config) { config.layers[1].attention.shares = 0; });
  add_attention("values that are keys", [](AttentionSpec& spec) { spec.value_is_key = true; });
  add_attention("norm of values", [](AttentionSpec& spec) { spec.value_norm = true; });
  add("inputs by layer", [](ModelConfig& config) {
    config.layer_input_width = 8;
    for (LayerSpec& layer : config.layers) layer.layer_input = true;
  });
  add_layers("scale of a layer's output", [](LayerSpec& layer) { layer.output_scale = true; });
  add("windows", [](ModelConfig& config) { set_windows(config, {0, 19}); });
  return configs;
}

/// What of one_switch_each() only LibTorch's operators compute.
inline bool is_beyond_kernels(const std::string& name) { return name == "attention_softcap"; }

/// The same on a GPU.
inline bool is_beyond_gpu_kernels(const std::string& name) {
  for (const char* beyond : {"logit_softcap", "experts", "experts beside an MLP", "attention_sinks",
                             "mlp_width", "gate of attention's output", "heads that turn in part",
                             "heads by layer", "shared keys and values", "values that are keys",
                             "norm of values", "inputs by layer", "scale of a layer's output"}) {
    if (name == beyond) return true;
  }
  return is_beyond_kernels(name);
}

/// Biases and norms that do something; `norms`: their mean, as it is stored.
inline void randomise(Transformer& model, double norms) {
  for (auto& [name, weight] : model.named_weights()) {
    if (name.ends_with("bias")) at::Tensor(weight).copy_(normal(weight.sizes(), 5) * 0.2);
    if (name.ends_with("layer_scalar")) at::Tensor(weight).fill_(0.7);
    if (name.ends_with("scale")) at::Tensor(weight).copy_(1.0 + normal(weight.sizes(), 7) * 0.2);
    if (name.find("norm") != std::string::npos) {
      // Where scores are divided by nothing, such norms would leave one key of each head.
      const bool is_sharp = model.config().layers.front().attention.query_scalar == 1.0 &&
                            (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight"));
      at::Tensor(weight).copy_((norms + normal(weight.sizes(), 6) * 0.2) * (is_sharp ? 0.5 : 1.0));
    }
  }
}

inline void randomise(Transformer& model) { randomise(model, 1.0 - model.config().norm_offset); }

/// Stores the same, whatever the configuration adds to it.
inline std::unique_ptr<Transformer> make_with(const ModelConfig& config) {
  auto model = Transformer::initialize(config, 1, at::kFloat);
  randomise(*model, 1.0);
  return model;
}

}  // namespace predgen
