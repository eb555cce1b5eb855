#include "model/families/families.h"

namespace predgen {

/// Qwen3: queries and keys are normed head by head.
const Family Family::kQwen3{"Qwen3ForCausalLM",
                            "qwen3",
                            {151936, 4096, 22016, 32, 32, 32, 32768},
                            [](const ConfigFields& fields, ModelConfig& config) {
                              read_plain_block(fields, config);
                              config.block.qkv_bias = config.block.o_bias =
                                  fields.flag("attention_bias", false);
                              config.block.qk_norm = QkNorm::kHead;
                              if (!fields.has("head_dim")) config.head_dim = 128;
                              read_qwen_windows(fields, config);
                            },
                            [](const ModelConfig& config, Json& json) {
                              json["attention_bias"] = config.block.qkv_bias;
                              write_qwen_windows(config, json);
                            }};

}  // namespace predgen
