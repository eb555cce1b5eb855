#include "model/architectures/architectures.h"

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

}  // namespace predgen
