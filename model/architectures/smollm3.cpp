#include "core/error.h"
#include "model/architectures/architectures.h"

namespace predgen {
namespace {

/// "no_rope_layers" (1: the layer has rotary positions), or every "no_rope_layer_interval"-th has
/// none. "layer_types", if present, agrees with "sliding_window".
void read_smollm3(const ConfigFields& fields, ModelConfig& config) {
  read_plain_layers(fields, config);
  const size_t num_layers = config.layers.size();
  const bool bias = fields.flag("attention_bias", false);
  set_layers({.attention = {.qkv_bias = bias, .o_bias = bias},
              .feed_forward = {.bias = fields.flag("mlp_bias", false)}},
             config);
  if (fields.flag("use_sliding_window", false)) {
    fields.fail("use_sliding_window", "true is not supported for SmolLM3");
  }
  if (fields.has("layer_types")) {
    fields.only("layer_types", Json(std::vector<std::string>(num_layers, "full_attention")));
  }
  const auto interval = static_cast<size_t>(fields.size("no_rope_layer_interval", 4));
  const bool has_list = fields.has("no_rope_layers");
  const Json list = has_list ? fields.at("no_rope_layers") : Json::array();
  if (has_list && (!list.is_array() || list.size() < num_layers)) {
    fields.fail("no_rope_layers", "must have one entry for each layer");
  }
  for (size_t i = 0; i < num_layers; ++i) {
    if (has_list && list[i] != 0 && list[i] != 1) {
      fields.fail("no_rope_layers", fmt::format("must hold 0 and 1, not {}", list[i].dump()));
    }
    const bool has_none = has_list ? list[i] == 0 : (i + 1) % interval == 0;
    config.layers[i].attention.rope = has_none ? 1 : 0;
  }
  config.ropes.push_back({.kind = RopeKind::kNone});
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", true);
}

void write_smollm3(const ModelConfig& config, Json& json) {
  json["attention_bias"] = config.layer(0).attention.qkv_bias;
  json["mlp_bias"] = config.layer(0).feed_forward.bias;
  json["no_rope_layers"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    json["no_rope_layers"].push_back(layer.attention.rope == 0 ? 1 : 0);
  }
}

}  // namespace

/// SmolLM3: Llama's block, but every fourth layer has no position embedding.
const Architecture Architecture::kSmolLM3{"SmolLM3ForCausalLM",
                                          "smollm3",
                                          {128256, 2048, 11008, 36, 16, 4, 32768, 2e6},
                                          read_smollm3,
                                          write_smollm3};

}  // namespace predgen
