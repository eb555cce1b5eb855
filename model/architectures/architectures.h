#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "model/config_fields.h"
#include "model/model_config.h"

namespace predgen {

/// What `transformers` takes where a config.json says nothing.
struct UsualSizes {
  int64_t vocab_size, hidden_size, intermediate_size, num_layers, num_heads;
  int64_t num_kv_heads;  // 0: one for each head
  int64_t max_positions;
  double rope_theta = 1e4;
  int64_t head_dim = 0;       // 0: hidden_size / num_heads
  double rotary_share = 1.0;  // RopeConfig::share; 1: the architecture turns whole heads
};

/// How a model is called that also sees or hears, and has the architecture's as its "text_config".
/// Of several architectures with the same, the "model_type" in there chooses, or the first.
struct WiderModel {
  const char* architecture = "";
  const char* model_type = "";
};

/// What sets one architecture apart from the others.
struct Architecture {
  const char* name;  // "architectures" in config.json
  const char* model_type;
  UsualSizes usual;
  /// Fills in what the fields shared by all architectures leave open; UserError for a field that it
  /// does not support.
  void (*read)(const ConfigFields& fields, ModelConfig& config);
  /// Adds the same to a config.json.
  void (*write)(const ModelConfig& config, Json& json);
  WiderModel wider{};

  static const Architecture kGemma3, kGemma4, kGemma4Assistant, kGemma4Unified,
      kGemma4UnifiedAssistant, kGptOss, kLfm2, kLfm2Moe, kLlama, kMinistral3, kMistral, kOlmo2,
      kOlmo3, kQwen2, kQwen3, kQwen3_5, kQwen3_5Moe, kQwen3Moe, kSmolLM3;
};

/// Every supported architecture.
std::span<const Architecture> architectures();

/// The name of Activation::kGeluTanh in config.json.
constexpr const char* kGeluTanh = "gelu_pytorch_tanh";

/// SiLU and one rotary embedding for all layers, as all architectures but Gemma have them.
void read_plain_layers(const ConfigFields& fields, ModelConfig& config);
/// Layers by their "layer_types", one of the names in `kinds`; without it, as `usual` names them.
/// UserError unless one of them is attention.
void read_layer_kinds(const ConfigFields& fields,
                      const std::vector<std::pair<std::string, LayerSpec>>& kinds,
                      const std::function<std::string(size_t index)>& usual, ModelConfig& config);
/// Makes all layers like this one.
void set_layers(const LayerSpec& layer, ModelConfig& config);

/// Fields of experts, and what `transformers` takes where a config.json does not have them. Their
/// number goes by "num_experts" and "num_local_experts", too.
struct ExpertFields {
  const char* count = "num_experts";
  int64_t usual_count = 0;
  const char* chosen = "num_experts_per_tok";
  int64_t usual_chosen = 0;
};
/// Fills in how many there are and how many are chosen; UserError if these are more. The rest is
/// Llama's kind of MLP, by softmax.
ExpertsSpec read_experts(const ConfigFields& fields, const ExpertFields& which, int64_t width);

/// "use_sliding_window", "sliding_window", "max_window_layers" and "layer_types", as Qwen2 and
/// Qwen3 have them.
void read_qwen_windows(const ConfigFields& fields, ModelConfig& config);
void write_qwen_windows(const ModelConfig& config, Json& json);

}  // namespace predgen
