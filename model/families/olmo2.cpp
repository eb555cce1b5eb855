#include "model/families/families.h"

namespace predgen {

/// OLMo 2: norms after attention and MLP instead of before, queries and keys normed over their
/// full width.
const Family Family::kOlmo2{
    "Olmo2ForCausalLM",
    "olmo2",
    {50304, 4096, 11008, 32, 32, 0, 2048},
    [](const ConfigFields& fields, ModelConfig& config) {
      read_plain_block(fields, config);
      config.block.qkv_bias = config.block.o_bias = fields.flag("attention_bias", false);
      config.block.qk_norm = QkNorm::kWidth;
      config.block.norm_before = false;
      config.block.norm_after = true;
      config.block.norm_scales_wide = true;
      config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-5);
      fields.absent("sliding_window");
    },
    [](const ModelConfig& config, Json& json) { json["attention_bias"] = config.block.qkv_bias; }};

}  // namespace predgen
