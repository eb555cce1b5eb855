#include "model/families/families.h"

namespace predgen {

/// Llama 2, 3, 3.1 and 3.2.
const Family kLlama{"LlamaForCausalLM", "llama",
                    [](const ConfigFields& fields, ModelConfig& config) {
                      config.qkv_bias = config.o_bias = fields.flag("attention_bias", false);
                      config.mlp_bias = fields.flag("mlp_bias", false);
                      fields.absent("sliding_window");
                    },
                    [](const ModelConfig& config, Json& json) {
                      json["attention_bias"] = config.qkv_bias;
                      json["mlp_bias"] = config.mlp_bias;
                    }};

}  // namespace predgen
