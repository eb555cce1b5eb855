#include "model/architectures/architectures.h"

namespace predgen {

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

}  // namespace predgen
