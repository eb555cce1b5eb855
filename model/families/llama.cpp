#include "model/families/families.h"

namespace predgen {

/// Llama 2, 3, 3.1 and 3.2.
const Family Family::kLlama{"LlamaForCausalLM",
                            "llama",
                            {32000, 4096, 11008, 32, 32, 0, 2048},
                            [](const ConfigFields& fields, ModelConfig& config) {
                              read_plain_block(fields, config);
                              config.block.qkv_bias = config.block.o_bias =
                                  fields.flag("attention_bias", false);
                              config.block.mlp_bias = fields.flag("mlp_bias", false);
                              fields.absent("sliding_window");
                            },
                            [](const ModelConfig& config, Json& json) {
                              json["attention_bias"] = config.block.qkv_bias;
                              json["mlp_bias"] = config.block.mlp_bias;
                            }};

}  // namespace predgen
