#include "model/architectures/architectures.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace predgen {

std::span<const Architecture> architectures() {
  static const std::array kArchitectures{Architecture::kQwen2,
                                         Architecture::kQwen3,
                                         Architecture::kLlama,
                                         Architecture::kMistral,
                                         Architecture::kOlmo2,
                                         Architecture::kGemma3,
                                         Architecture::kSmolLM3,
                                         Architecture::kQwen3_5,
                                         Architecture::kLfm2,
                                         Architecture::kQwen3_5Moe,
                                         Architecture::kLfm2Moe,
                                         Architecture::kQwen3Moe,
                                         Architecture::kGptOss,
                                         Architecture::kOlmo3,
                                         Architecture::kMinistral3,
                                         Architecture::kGemma4,
                                         Architecture::kGemma4Unified,
                                         Architecture::kGemma4Assistant,
                                         Architecture::kGemma4UnifiedAssistant};
  return kArchitectures;
}

void read_plain_layers(const ConfigFields& fields, ModelConfig& config) {
  if (fields.word("hidden_act", "silu") != "swish") fields.only("hidden_act", "silu");  // the same
  const RopeConfig& usual = config.ropes.front();
  config.ropes = {RopeConfig::read(fields, config.max_positions, usual.theta, usual.share)};
}

void read_layer_kinds(const ConfigFields& fields,
                      const std::vector<std::pair<std::string, LayerSpec>>& kinds,
                      const std::function<std::string(size_t index)>& usual, ModelConfig& config) {
  constexpr const char* kTypes = "layer_types";
  const size_t num_layers = config.layers.size();
  const bool has_types = fields.has(kTypes);
  const Json types = has_types ? fields.at(kTypes) : Json::array();
  if (has_types && (!types.is_array() || types.size() != num_layers)) {
    fields.fail(kTypes, "must have one entry for each layer");
  }
  for (size_t i = 0; i < num_layers; ++i) {
    const Json type = has_types ? types[i] : Json(usual(i));
    const auto kind =
        std::ranges::find_if(kinds, [&](const auto& one) { return type == one.first; });
    if (kind == kinds.end()) {
      fields.fail(kTypes, fmt::format("must be {} or {}, not {}", kinds[0].first, kinds[1].first,
                                      type.dump()));
    }
    config.layers[i] = kind->second;
  }
  if (config.num_row_layers() == 0) {
    fields.fail(kTypes, "must have a layer of attention, by whose rows caches are counted");
  }
}

void set_layers(const LayerSpec& layer, ModelConfig& config) {
  std::ranges::fill(config.layers, layer);
}

ExpertsSpec read_experts(const ConfigFields& fields, const ExpertFields& which, int64_t width) {
  constexpr int64_t kMostExperts = 4096;
  const char* key = which.count;
  for (const char* other : {"num_experts", "num_local_experts"}) {
    if (!fields.has(key) && fields.has(other)) key = other;
  }
  const ExpertsSpec spec{.count = fields.size(key, which.usual_count),
                         .chosen = fields.size(which.chosen, which.usual_chosen),
                         .width = width};
  if (spec.count > kMostExperts) {
    fields.fail(key, fmt::format("must be at most {}", kMostExperts));
  }
  if (spec.chosen > spec.count) {
    fields.fail(which.chosen,
                fmt::format("({}) must be at most \"{}\" ({})", spec.chosen, key, spec.count));
  }
  return spec;
}

void read_qwen_windows(const ConfigFields& fields, ModelConfig& config) {
  const size_t num_layers = config.layers.size();
  // Like the reference: the window counts only with use_sliding_window.
  const bool slides = fields.flag("use_sliding_window", false) && !fields.is_null("sliding_window");
  const int64_t window = slides ? fields.size("sliding_window", 4096) : 0;
  const int64_t first = slides ? fields.size("max_window_layers", 28) : config.num_layers();
  for (size_t i = 0; i < num_layers; ++i) {
    config.layers[i].attention.window = static_cast<int64_t>(i) >= first ? window : 0;
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
    config.layers[i].attention.window = types[i] == "full_attention" ? 0 : window;
  }
}

void write_qwen_windows(const ModelConfig& config, Json& json) {
  const int64_t window = config.widest_window();
  json["use_sliding_window"] = window > 0;
  if (window == 0) return;
  json["sliding_window"] = window;
  json["layer_types"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    json["layer_types"].push_back(layer.attention.window > 0 ? "sliding_attention"
                                                             : "full_attention");
  }
}

}  // namespace predgen
