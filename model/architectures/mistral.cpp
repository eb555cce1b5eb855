#include "model/architectures/architectures.h"

namespace predgen {

/// Mistral 7B: v0.1 has a sliding window, later versions have null.
const Architecture Architecture::kMistral{
    "MistralForCausalLM",
    "mistral",
    {32000, 4096, 14336, 32, 32, 8, 131072},
    [](const ConfigFields& fields, ModelConfig& config) {
      read_plain_layers(fields, config);
      fields.absent("layer_types");
      const int64_t window =
          fields.is_null("sliding_window") ? 0 : fields.size("sliding_window", 4096);
      set_layers({.attention = {.window = window}}, config);
    },
    [](const ModelConfig& config, Json& json) {
      const int64_t window = config.layer(0).attention.window;
      json["sliding_window"] = window > 0 ? Json(window) : Json();
    },
    {"Mistral3ForConditionalGeneration", "mistral3"}};

}  // namespace predgen
