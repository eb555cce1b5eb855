#include "checkpoint/gguf_hybrids.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.h"
#include "model/parts/delta_net.h"
#include "model/parts/short_convolution.h"

namespace predgen {
namespace {

constexpr std::array kQwen35Keys{"ssm.conv_kernel",        "ssm.state_size",
                                 "ssm.group_count",        "ssm.time_step_rank",
                                 "ssm.inner_size",         "full_attention_interval",
                                 "nextn_predict_layers",      // which are left out
                                 "rope.dimension_sections"};  // of images
constexpr std::array kLfm2Keys{"shortconv.l_cache"};

/// What llama.cpp writes of positions of images, which it wants.
const std::vector<int32_t> kSections{11, 11, 10, 0};

std::string key_of(std::string_view architecture, const char* end) {
  return fmt::format("{}.{}", architecture, end);
}

void read_qwen35(const GgufMetadata& metadata, std::string_view architecture, Json& json) {
  const auto key = [&](const char* end) { return key_of(architecture, end); };
  const auto size = [&](const char* end) { return metadata.get<int64_t>(key(end)); };
  const int64_t heads = size("ssm.time_step_rank"), inner = size("ssm.inner_size");
  if (heads < 1 || inner % heads != 0) {
    throw UserError("{}: metadata key \"{}\" must be a multiple of \"{}\"", metadata.where(),
                    key("ssm.inner_size"), key("ssm.time_step_rank"));
  }
  json["linear_conv_kernel_dim"] = size("ssm.conv_kernel");
  json["linear_key_head_dim"] = size("ssm.state_size");
  json["linear_num_key_heads"] = size("ssm.group_count");
  json["linear_num_value_heads"] = heads;
  json["linear_value_head_dim"] = inner / heads;
  json["full_attention_interval"] = metadata.get_or(key("full_attention_interval"), int64_t{4});
  json["num_hidden_layers"] = json["num_hidden_layers"].get<int64_t>() -
                              metadata.get_or(key("nextn_predict_layers"), int64_t{0});
  const auto head_dim = json["head_dim"].get<int64_t>();
  const int64_t rotated = metadata.get_or(key("rope.dimension_count"), head_dim);
  json["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(head_dim);
}

void read_lfm2_layers(const GgufMetadata& metadata, std::string_view architecture, Json& json) {
  constexpr const char* kHeads = "attention.head_count_kv";
  const auto heads = metadata.get<std::vector<int64_t>>(key_of(architecture, kHeads));
  json["layer_types"] = Json::array();
  int64_t most = 0;
  for (const int64_t count : heads) {
    json["layer_types"].push_back(count > 0 ? "full_attention" : "conv");
    if (count > 0 && most > 0 && count != most) {
      throw UserError("{}: metadata key \"{}\" must have one value other than 0", metadata.where(),
                      key_of(architecture, kHeads));
    }
    most = std::max(most, count);
  }
  json["num_key_value_heads"] = std::max<int64_t>(most, 1);
  json["conv_L_cache"] = metadata.get<int64_t>(key_of(architecture, "shortconv.l_cache"));
  json["block_auto_adjust_ff_dim"] = false;
  json["norm_eps"] = json["rms_norm_eps"];
}

}  // namespace

std::span<const char* const> gguf_hybrid_keys(std::string_view architecture) {
  if (is_gguf_qwen35(architecture)) return kQwen35Keys;
  if (is_gguf_lfm2(architecture)) return kLfm2Keys;
  return {};
}

void read_gguf_hybrid(const GgufMetadata& metadata, std::string_view architecture, Json& json) {
  if (is_gguf_qwen35(architecture)) read_qwen35(metadata, architecture, json);
  if (is_gguf_lfm2(architecture)) read_lfm2_layers(metadata, architecture, json);
}

void write_gguf_hybrid(const ModelConfig& config, std::string_view architecture,
                       GgufContents& contents) {
  const auto add = [&](const char* end, int64_t size) {
    contents.add(key_of(architecture, end), static_cast<uint32_t>(size));
  };
  if (is_gguf_qwen35(architecture)) {
    int64_t interval = 0;
    for (int64_t i = 0; i < config.num_layers() && interval == 0; ++i) {
      if (!config.layer(i).recurrence) interval = i + 1;
    }
    for (int64_t i = 0; i < config.num_layers(); ++i) {
      const RecurrentSpec* const recurrence = config.layer(i).recurrence.get();
      if ((recurrence == nullptr) != ((i + 1) % interval == 0)) {
        throw UserError(
            "llama.cpp has only every n-th layer of attention for a {}: write a Hugging Face "
            "folder instead",
            config.architecture);
      }
      if (recurrence == nullptr || i > 0) continue;
      const DeltaNetShape& shape = dynamic_cast<const DeltaNetSpec&>(*recurrence).shape;
      add("ssm.conv_kernel", shape.taps);
      add("ssm.state_size", shape.key_dim);
      add("ssm.group_count", shape.key_heads);
      add("ssm.time_step_rank", shape.value_heads);
      add("ssm.inner_size", shape.all_values());
    }
    add("full_attention_interval", interval);
    contents.add(key_of(architecture, "rope.dimension_sections"), kSections);
  }
  if (!is_gguf_lfm2(architecture)) return;
  std::vector<int32_t> heads;
  for (const LayerSpec& layer : config.layers) {
    heads.push_back(layer.recurrence ? 0 : static_cast<int32_t>(config.num_kv_heads));
    if (!layer.recurrence) continue;
    const auto& shape = dynamic_cast<const ShortConvolutionSpec&>(*layer.recurrence).shape;
    if (heads.size() == 1) add("shortconv.l_cache", shape.taps);
    if (shape.bias) {
      throw UserError("llama.cpp has no conv_bias for a {}: write a Hugging Face folder instead",
                      config.architecture);
    }
  }
  contents.add(key_of(architecture, "attention.head_count_kv"), heads);
}

}  // namespace predgen
