#include <algorithm>

#include "core/error.h"
#include "model/architectures/architectures.h"

namespace predgen {
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

}  // namespace predgen
