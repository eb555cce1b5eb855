#include "model/architectures/architectures.h"
#include "model/architectures/layers_by_type.h"

namespace predgen {
namespace {

void read_gpt_oss(const ConfigFields& fields, ModelConfig& config) {
  fields.only("hidden_act", "silu");
  fields.only("swiglu_alpha", 1.702);
  fields.only("swiglu_limit", 7.0);
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-5);
  config.norm_scales_wide = true;
  const bool bias = fields.flag("attention_bias", true);
  LayerSpec layer{.attention = {.qkv_bias = bias, .o_bias = bias, .sinks = true},
                  .mlp_norm = "post_attention_norm"};
  layer.experts = read_experts(fields,
                               {.count = "num_local_experts",
                                .usual_count = 128,
                                .chosen = "num_experts_per_tok",
                                .usual_chosen = 4},
                               config.intermediate_size);
  layer.experts.routing = Routing::kSoftmaxOfChosen;
  layer.experts.router_bias = layer.experts.bias = true;
  layer.experts.activation = Activation::kClampedSwiglu;
  layer.experts.storage = ExpertStorage::kInterleaved;
  layer.experts.names.router.hugging_face = "mlp.router";
  set_layers(layer, config);
  read_layer_types(fields, 2, 128, config);
  RopeConfig& rope = config.ropes.front();
  if (fields.has("rope_scaling") || fields.has("rope_parameters")) {
    rope = RopeConfig::read(fields, config.max_positions, rope.theta);
    return;
  }
  rope = {.kind = RopeKind::kYarn,
          .theta = fields.positive("rope_theta", rope.theta),
          .factor = 32.0,
          .original_positions = 4096,
          .truncate = false,
          .attention_factor = yarn_attention_factor(32.0)};
}

void write_gpt_oss(const ModelConfig& config, Json& json) {
  const LayerSpec& layer = config.layer(0);
  json["attention_bias"] = layer.attention.qkv_bias;
  json["num_local_experts"] = layer.experts.count;
  json["num_experts_per_tok"] = layer.experts.chosen;
  write_layer_types(config, json);
}

}  // namespace

/// gpt-oss: sinks in attention, a window in every other layer, YaRN, experts with biases and a
/// clamped gate, of which the largest are chosen before the softmax.
const Architecture Architecture::kGptOss{"GptOssForCausalLM",
                                         "gpt_oss",
                                         {201088, 2880, 2880, 36, 64, 8, 131072, 150000.0, 64},
                                         read_gpt_oss,
                                         write_gpt_oss};

}  // namespace predgen
