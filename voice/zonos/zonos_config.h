#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "model/model_config.h"

namespace predgen {

/// Common to all such checkpoints: the codes of the DAC codec at 44.1 kHz.
constexpr int64_t kZonosCodebooks = 9;
constexpr int64_t kZonosEos = 1024;            // after the 1024 entries of a codebook
constexpr int64_t kZonosMask = 1025;           // no code: the delay pattern's empty cells
constexpr int64_t kZonosLogits = 1025;         // entries and EOS
constexpr int64_t kZonosEmbeddings = 1026;     // entries, EOS and MASK
constexpr int64_t kZonosPhonemes = 189;        // symbols of text
constexpr int64_t kZonosMaxPositions = 16384;  // text and audio together

/// GPU memory, in bytes, for speaking with Zonos-v0.1: the transformer in bfloat16 (1,624 M
/// parameters), its DAC decoder in float32 (77 M), and 1 GiB for graphs and sentences under way.
constexpr double kZonosBytes = 1624.4e6 * 2 + 76.6e6 * 4 + 1024.0 * 1024.0 * 1024.0;

enum class ZonosProjection { kNone, kLinear, kMlp };

/// One part of the prefix that conditions what the voice says and how.
struct ZonosConditioner {
  enum class Kind { kPhonemes, kPassthrough, kFourier, kInteger };

  std::string name;  // "espeak", "speaker", "emotion", "fmax", ..
  Kind kind = Kind::kPhonemes;
  ZonosProjection projection = ZonosProjection::kNone;
  bool has_unconditional = false;  // a learned vector stands for "not given"
  int64_t input_width = 1;         // width of a value: 128 for the speaker, 8 for emotion
  double min = 0.0, max = 1.0;     // range of a value; for integers both ends included
};

/// config.json of a Zonos-v0.1 transformer folder.
struct ZonosConfig {
  int64_t width = 0;      // D
  int64_t mlp_width = 0;  // F
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  double norm_epsilon = 1e-5;
  ZonosProjection prefix_projection = ZonosProjection::kNone;
  std::vector<ZonosConditioner> conditioners;  // in order of their positions

  int64_t head_width() const { return width / num_heads; }

  /// `folder`/config.json. UserError for a field that is missing, impossible or not supported, by
  /// name; a hybrid (Mamba) checkpoint is rejected with what to use instead.
  static ZonosConfig load(const std::filesystem::path& folder);
  /// `where` names the JSON in errors.
  static ZonosConfig read(const Json& json, const std::string& where);

  /// Every tensor of model.safetensors.
  std::vector<WeightSpec> weight_layout() const;
};

}  // namespace predgen
