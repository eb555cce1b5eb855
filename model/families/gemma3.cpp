#include <cmath>

#include "core/error.h"
#include "model/families/families.h"

namespace predgen {
namespace {

constexpr const char *kSliding = "sliding_attention", *kFull = "full_attention";

/// Windows and the rotation that goes with them: from "layer_types", else every
/// `sliding_window_pattern`-th layer is full.
void read_windows(const ConfigFields& fields, ModelConfig& config) {
  const size_t num_layers = config.layers.size();
  const auto pattern = static_cast<size_t>(fields.size("sliding_window_pattern", 6));
  const bool has_types = fields.has("layer_types");
  const Json types = has_types ? fields.at("layer_types") : Json::array();
  if (has_types && (!types.is_array() || types.size() != num_layers)) {
    fields.fail("layer_types", "must have one entry for each layer");
  }
  for (size_t i = 0; i < num_layers; ++i) {
    const bool slides = has_types ? types[i] == kSliding : (i + 1) % pattern != 0;
    if (has_types && !slides && types[i] != kFull) {
      fields.fail("layer_types",
                  fmt::format("must be {} or {}, not {}", kSliding, kFull, types[i].dump()));
    }
    if (!slides) continue;
    if (fields.is_null("sliding_window")) {
      fields.fail("sliding_window", "is null, but there are sliding layers");
    }
    config.layers[i].attention.window = fields.size("sliding_window", 4096);
    config.layers[i].attention.rope = 1;
  }
}

/// For the layers of one type: transformers 5 has "rope_parameters" for each type, transformers 4 a
/// base for each and a "rope_scaling" for the full ones.
RopeConfig read_rope(const ConfigFields& fields, const ModelConfig& config, const char* type,
                     const char* base, double theta) {
  Json rope = Json::object();
  const auto take = [&](const Json& from, const char* key) {
    if (!from.is_object()) fields.fail(key, "must be an object");
    rope.update(from);
  };
  if (fields.has("rope_parameters")) {
    const Json& types = fields.at("rope_parameters");
    if (!types.is_object()) fields.fail("rope_parameters", "must be an object");
    const ConfigFields by_type(types, fields.where() + ": \"rope_parameters\"");
    for (const auto& [name, value] : types.items()) {
      if (name != kSliding && name != kFull) by_type.absent(name.c_str());
    }
    if (by_type.has(type)) take(by_type.at(type), type);
  }
  if (type == kFull && fields.has("rope_scaling")) take(fields.at("rope_scaling"), "rope_scaling");
  if (!rope.contains("rope_theta")) rope["rope_theta"] = fields.positive(base, theta);
  Json own{{"rope_parameters", rope}};
  if (fields.has("original_max_position_embeddings")) {
    own["original_max_position_embeddings"] = fields.at("original_max_position_embeddings");
  }
  return RopeConfig::read(ConfigFields(own, fmt::format("{}: {}", fields.where(), type)),
                          config.max_positions);
}

void read_gemma3(const ConfigFields& fields, ModelConfig& config) {
  fields.only("hidden_act", kGeluTanh);
  fields.only("hidden_activation", kGeluTanh);
  fields.only("use_bidirectional_attention", false);
  const bool bias = fields.flag("attention_bias", false);
  set_layers({.attention = {.qk_norm = QkNorm::kHead,
                            .qkv_bias = bias,
                            .o_bias = bias,
                            .query_scalar = fields.positive("query_pre_attn_scalar", 256)},
              .feed_forward = {.activation = Activation::kGeluTanh},
              .norm_after = true},
             config);
  config.norm_offset = 1.0;
  config.norm_scales_wide = true;
  fields.absent("attn_logit_softcapping");  // which the reference reads but does not apply
  config.logit_softcap = fields.positive("final_logit_softcapping", 0);
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  read_windows(fields, config);
  config.ropes = {read_rope(fields, config, kFull, "rope_theta", 1e6),
                  read_rope(fields, config, kSliding, "rope_local_base_freq", 1e4)};
  if (config.ropes.back().kind != RopeKind::kDefault) {
    throw UserError("{}: a rope_type of {} other than default is not supported", fields.where(),
                    kSliding);
  }
  if (!fields.has("head_dim")) config.head_dim = 256;
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", true);
}

void write_gemma3(const ModelConfig& config, Json& json) {
  const AttentionSpec& attention = config.layer(0).attention;
  json["attention_bias"] = attention.qkv_bias;
  json["final_logit_softcapping"] = config.logit_softcap > 0 ? Json(config.logit_softcap) : Json();
  json["hidden_activation"] = kGeluTanh;
  json["query_pre_attn_scalar"] = attention.query_scalar;
  json["rope_local_base_freq"] = config.ropes.back().theta;
  json["layer_types"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    const int64_t window = layer.attention.window;
    if (window > 0) json["sliding_window"] = window;
    json["layer_types"].push_back(window > 0 ? kSliding : kFull);
  }
}

}  // namespace

/// Gemma 3, text only: GeGLU, norms before and after attention and MLP, faster rotation in layers
/// with a window.
const Family Family::kGemma3{"Gemma3ForCausalLM",
                             "gemma3_text",
                             {262208, 2304, 9216, 26, 8, 4, 131072},
                             read_gemma3,
                             write_gemma3};

}  // namespace predgen
