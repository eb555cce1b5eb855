#include "model/families/families.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace predgen {

std::span<const Family> families() {
  static const std::array kFamilies{Family::kQwen2,   Family::kQwen3, Family::kLlama,
                                    Family::kMistral, Family::kOlmo2, Family::kGemma3,
                                    Family::kSmolLM3};
  return kFamilies;
}

void read_plain_block(const ConfigFields& fields, ModelConfig& config) {
  if (fields.word("hidden_act", "silu") != "swish") fields.only("hidden_act", "silu");  // the same
  config.block.rope = RopeConfig::read(fields, config.max_positions, config.block.rope.theta);
}

void read_qwen_windows(const ConfigFields& fields, ModelConfig& config) {
  const auto num_layers = static_cast<size_t>(config.num_layers);
  // Like the reference: the window counts only with use_sliding_window.
  const bool slides = fields.flag("use_sliding_window", false) && !fields.is_null("sliding_window");
  const int64_t window = slides ? fields.size("sliding_window", 4096) : 0;
  const int64_t first = slides ? fields.size("max_window_layers", 28) : config.num_layers;
  config.block.windows.assign(num_layers, 0);
  for (size_t i = 0; i < num_layers; ++i) {
    if (static_cast<int64_t>(i) >= first) config.block.windows[i] = window;
  }
  if (!fields.has("layer_types")) return;
  const Json& types = fields.at("layer_types");
  if (!types.is_array() || types.size() != num_layers) {
    fields.fail("layer_types", "must have one entry for each layer");
  }
  for (size_t i = 0; i < num_layers; ++i) {
    if (types[i] != "full_attention" && !(types[i] == "sliding_attention" && slides)) {
      throw UserError("{}: \"layer_types\": {} needs full attention, or use_sliding_window",
                      fields.where(), types[i].dump());
    }
    config.block.windows[i] = types[i] == "full_attention" ? 0 : window;
  }
}

void write_qwen_windows(const ModelConfig& config, Json& json) {
  const int64_t window = config.block.windows.empty() ? 0 : std::ranges::max(config.block.windows);
  json["use_sliding_window"] = window > 0;
  if (window == 0) return;
  json["sliding_window"] = window;
  json["layer_types"] = Json::array();
  for (const int64_t each : config.block.windows) {
    json["layer_types"].push_back(each > 0 ? "sliding_attention" : "full_attention");
  }
}

}  // namespace predgen
