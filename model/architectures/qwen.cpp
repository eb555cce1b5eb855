#include <algorithm>
#include <memory>

#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/parts/delta_net.h"

namespace predgen {

/// Qwen2 and Qwen2.5: query, key and value have biases.
const Architecture Architecture::kQwen2{"Qwen2ForCausalLM",
                                        "qwen2",
                                        {151936, 4096, 22016, 32, 32, 32, 32768},
                                        [](const ConfigFields& fields, ModelConfig& config) {
                                          read_plain_layers(fields, config);
                                          set_layers({.attention = {.qkv_bias = true}}, config);
                                          read_qwen_windows(fields, config);
                                        },
                                        write_qwen_windows};

/// Qwen3: queries and keys are normed head by head.
const Architecture Architecture::kQwen3{
    "Qwen3ForCausalLM",
    "qwen3",
    {151936, 4096, 22016, 32, 32, 32, 32768},
    [](const ConfigFields& fields, ModelConfig& config) {
      read_plain_layers(fields, config);
      const bool bias = fields.flag("attention_bias", false);
      set_layers({.attention = {.qk_norm = QkNorm::kHead, .qkv_bias = bias, .o_bias = bias}},
                 config);
      if (!fields.has("head_dim")) config.head_dim = 128;
      read_qwen_windows(fields, config);
    },
    [](const ModelConfig& config, Json& json) {
      json["attention_bias"] = config.layer(0).attention.qkv_bias;
      write_qwen_windows(config, json);
    }};

namespace {

/// "mlp_only_layers", and of the others every "decoder_sparse_step"-th has experts.
void choose_layers(const ConfigFields& fields, const ExpertsSpec& experts, ModelConfig& config) {
  const int64_t step = fields.size("decoder_sparse_step", 1);
  const bool has_list = fields.has("mlp_only_layers");
  const Json list = has_list ? fields.at("mlp_only_layers") : Json::array();
  const auto is_number = [](const Json& entry) { return entry.is_number_integer(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_number)) {
    fields.fail("mlp_only_layers", "must be a list of layers, counted from 0");
  }
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    const bool is_listed = std::ranges::find(list, Json(i)) != list.end();
    const bool has_experts = !is_listed && (i + 1) % step == 0;
    if (has_experts) config.layers[static_cast<size_t>(i)].experts = experts;
  }
}

void read_qwen3_moe(const ConfigFields& fields, ModelConfig& config) {
  read_plain_layers(fields, config);
  const bool bias = fields.flag("attention_bias", false);
  // Like the reference: one window for all layers.
  const bool slides = fields.flag("use_sliding_window", false) && !fields.is_null("sliding_window");
  set_layers({.attention = {.qk_norm = QkNorm::kHead,
                            .qkv_bias = bias,
                            .o_bias = bias,
                            .window = slides ? fields.size("sliding_window", 4096) : 0}},
             config);
  ExpertsSpec experts = read_experts(fields, {.usual_count = 128, .usual_chosen = 8},
                                     fields.size("moe_intermediate_size", 768));
  experts.is_normalised = fields.flag("norm_topk_prob", false);
  choose_layers(fields, experts, config);
}

void write_qwen3_moe(const ModelConfig& config, Json& json) {
  const int64_t window = config.widest_window();
  json["attention_bias"] = config.layer(0).attention.qkv_bias;
  json["use_sliding_window"] = window > 0;
  if (window > 0) json["sliding_window"] = window;
  json["decoder_sparse_step"] = 1;
  json["mlp_only_layers"] = Json::array();
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    const ExpertsSpec& experts = config.layer(i).experts;
    if (experts.count == 0) {
      json["mlp_only_layers"].push_back(i);
      continue;
    }
    json["num_experts"] = experts.count;
    json["num_experts_per_tok"] = experts.chosen;
    json["moe_intermediate_size"] = experts.width;
    json["norm_topk_prob"] = experts.is_normalised;
  }
}

}  // namespace

/// Qwen3 with experts (Qwen3-30B-A3B): softmax over all of them, of which the largest count.
const Architecture Architecture::kQwen3Moe{"Qwen3MoeForCausalLM",
                                           "qwen3_moe",
                                           {151936, 2048, 6144, 24, 32, 4, 32768},
                                           read_qwen3_moe,
                                           write_qwen3_moe};

namespace {

constexpr const char *kLinear = "linear_attention", *kWhole = "full_attention";

DeltaNetShape read_delta_net(const ConfigFields& fields) {
  const DeltaNetShape shape{.key_heads = fields.size("linear_num_key_heads", 16),
                            .value_heads = fields.size("linear_num_value_heads", 32),
                            .key_dim = fields.size("linear_key_head_dim", 128),
                            .value_dim = fields.size("linear_value_head_dim", 128),
                            .taps = fields.size("linear_conv_kernel_dim", 4)};
  if (shape.value_heads % shape.key_heads != 0) {
    fields.fail("linear_num_value_heads",
                fmt::format("({}) must be a multiple of \"linear_num_key_heads\" ({})",
                            shape.value_heads, shape.key_heads));
  }
  constexpr int64_t kMost = 1024;  // of the kernels' memory for a head
  if (shape.key_dim > kMost || shape.value_dim > kMost) {
    fields.fail("linear_key_head_dim", fmt::format("and the values' must be at most {}", kMost));
  }
  if (shape.taps < 2) fields.fail("linear_conv_kernel_dim", "must be at least 2");
  return shape;
}

void read_qwen3_5(const ConfigFields& fields, ModelConfig& config) {
  read_plain_layers(fields, config);
  if (config.ropes.front().rotary_dim(config.head_dim) % 2 != 0) {
    fields.fail("partial_rotary_factor", "must give an even number of values of a head");
  }
  const bool bias = fields.flag("attention_bias", false);
  const LayerSpec attention{
      .attention = {.qk_norm = QkNorm::kHead,
                    .qkv_bias = bias,
                    .o_bias = bias,
                    .output_gate = true},
      .own_norms = {.before_attention = {"input_layernorm", "attn_norm"},
                    .before_mlp = {"post_attention_layernorm", "post_attention_norm"}}};
  LayerSpec linear = attention;
  linear.recurrence =
      std::make_shared<const DeltaNetSpec>(read_delta_net(fields), config.rms_norm_eps);
  config.norm_offset = 1.0;
  config.norm_scales_wide = true;
  const bool shares_tables = !fields.flag("mtp_use_dedicated_embeddings", false);
  constexpr const char* kMtpLayers = "mtp_num_hidden_layers";
  const bool has_none = fields.has(kMtpLayers) && fields.at(kMtpLayers) == 0;
  config.num_mtp_layers = shares_tables && !has_none ? fields.size(kMtpLayers, 1) : 0;
  const auto interval = static_cast<size_t>(fields.size("full_attention_interval", 4));
  read_layer_kinds(
      fields, {{kLinear, linear}, {kWhole, attention}},
      [&](size_t i) { return (i + 1) % interval == 0 ? kWhole : kLinear; }, config);
}

void read_qwen3_5_moe(const ConfigFields& fields, ModelConfig& config) {
  read_qwen3_5(fields, config);
  ExpertsSpec experts = read_experts(fields, {.usual_count = 256, .usual_chosen = 8},
                                     fields.size("moe_intermediate_size", 512));
  experts.is_normalised = true;
  experts.shared_width = fields.size("shared_expert_intermediate_size", 512);
  experts.storage = ExpertStorage::kStacked;
  for (LayerSpec& layer : config.layers) layer.experts = experts;
}

void write_qwen3_5(const ModelConfig& config, Json& json) {
  json["layer_types"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    json["layer_types"].push_back(layer.recurrence ? kLinear : kWhole);
    if (!layer.recurrence) continue;
    const DeltaNetShape& shape = dynamic_cast<const DeltaNetSpec&>(*layer.recurrence).shape;
    json["linear_num_key_heads"] = shape.key_heads;
    json["linear_num_value_heads"] = shape.value_heads;
    json["linear_key_head_dim"] = shape.key_dim;
    json["linear_value_head_dim"] = shape.value_dim;
    json["linear_conv_kernel_dim"] = shape.taps;
  }
  for (const LayerSpec& layer : config.layers) {
    if (!layer.recurrence) json["attention_bias"] = layer.attention.qkv_bias;
  }
}

void write_qwen3_5_moe(const ModelConfig& config, Json& json) {
  write_qwen3_5(config, json);
  const ExpertsSpec& experts = config.layer(0).experts;
  json["num_experts"] = experts.count;
  json["num_experts_per_tok"] = experts.chosen;
  json["moe_intermediate_size"] = experts.width;
  json["shared_expert_intermediate_size"] = experts.shared_width;
}

}  // namespace

/// Qwen3.5: three gated delta nets to one attention, whose output has a gate and whose heads turn
/// in part; norms times 1 + w.
const Architecture Architecture::kQwen3_5{
    "Qwen3_5ForCausalLM", "qwen3_5_text", {248320, 4096, 12288, 32, 16, 4, 32768, 1e4, 256, 0.25},
    read_qwen3_5,         write_qwen3_5,  {"Qwen3_5ForConditionalGeneration", "qwen3_5"}};
/// The same with experts in place of MLPs, and one for all tokens.
const Architecture Architecture::kQwen3_5Moe{"Qwen3_5MoeForCausalLM",
                                             "qwen3_5_moe_text",
                                             {248320, 2048, 512, 40, 16, 2, 32768, 1e4, 256, 0.25},
                                             read_qwen3_5_moe,
                                             write_qwen3_5_moe,
                                             {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe"}};

}  // namespace predgen
