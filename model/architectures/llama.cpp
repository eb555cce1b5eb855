#include "model/architectures/architectures.h"

namespace predgen {

/// Llama 2, 3, 3.1 and 3.2.
const Architecture Architecture::kLlama{
    "LlamaForCausalLM",
    "llama",
    {32000, 4096, 11008, 32, 32, 0, 2048},
    [](const ConfigFields& fields, ModelConfig& config) {
      read_plain_layers(fields, config);
      const bool bias = fields.flag("attention_bias", false);
      set_layers({.attention = {.qkv_bias = bias, .o_bias = bias},
                  .feed_forward = {.bias = fields.flag("mlp_bias", false)}},
                 config);
      fields.absent("sliding_window");
    },
    [](const ModelConfig& config, Json& json) {
      const LayerSpec& layer = config.layer(0);
      json["attention_bias"] = layer.attention.qkv_bias;
      json["mlp_bias"] = layer.feed_forward.bias;
    }};

}  // namespace predgen
