#include "model/architectures/architectures.h"

namespace predgen {

/// OLMo 2: norms after attention and MLP instead of before, queries and keys normed over their
/// full width.
const Architecture Architecture::kOlmo2{
    "Olmo2ForCausalLM",
    "olmo2",
    {50304, 4096, 11008, 32, 32, 0, 2048},
    [](const ConfigFields& fields, ModelConfig& config) {
      read_plain_layers(fields, config);
      const bool bias = fields.flag("attention_bias", false);
      set_layers({.attention = {.qk_norm = QkNorm::kWidth, .qkv_bias = bias, .o_bias = bias},
                  .norm_before = false,
                  .norm_after = true},
                 config);
      config.norm_scales_wide = true;
      config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-5);
      fields.absent("sliding_window");
    },
    [](const ModelConfig& config, Json& json) {
      json["attention_bias"] = config.layer(0).attention.qkv_bias;
    }};

}  // namespace predgen
