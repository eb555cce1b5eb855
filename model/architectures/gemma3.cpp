#include <cmath>

#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/architectures/layers_by_type.h"

namespace predgen {
namespace {

/// Transformers 4 has a base for each type beside the layers' other fields.
RopeConfig read_rope(const ConfigFields& fields, const ModelConfig& config, const char* type,
                     const char* base, double theta) {
  Json rope = rope_fields(fields, type);
  if (!rope.contains("rope_theta")) rope["rope_theta"] = fields.positive(base, theta);
  return read_rope_of(fields, config, type, rope);
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
  read_layer_types(fields, fields.size("sliding_window_pattern", 6), 4096, config);
  use_rope_by_type(config);
  config.ropes = {read_rope(fields, config, kFullType, "rope_theta", 1e6),
                  read_rope(fields, config, kSlidingType, "rope_local_base_freq", 1e4)};
  if (config.ropes.back().kind != RopeKind::kDefault) {
    throw UserError("{}: a rope_type of {} other than default is not supported", fields.where(),
                    kSlidingType);
  }
  if (!fields.has("head_dim")) config.head_dim = 256;
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", true);
}

void write_gemma3(const ModelConfig& config, Json& json) {
  const AttentionSpec& attention = config.layer(0).attention;
  json["attention_bias"] = attention.qkv_bias;
  json["final_logit_softcapping"] = config.logit_softcap > 0 ? Json(config.logit_softcap) : Json();
  json["hidden_activation"] = kGeluTanh;
  // Whole in transformers, which refuses 256.0.
  const auto whole = static_cast<int64_t>(attention.query_scalar);
  json["query_pre_attn_scalar"] = static_cast<double>(whole) == attention.query_scalar
                                      ? Json(whole)
                                      : Json(attention.query_scalar);
  json["rope_local_base_freq"] = config.ropes.back().theta;
  write_layer_types(config, json);
}

}  // namespace

/// Gemma 3, text only: GeGLU, norms before and after attention and MLP, faster rotation in layers
/// with a window.
const Architecture Architecture::kGemma3{
    "Gemma3ForCausalLM", "gemma3_text", {262208, 2304, 9216, 26, 8, 4, 131072},
    read_gemma3,         write_gemma3,  {"Gemma3ForConditionalGeneration", "gemma3"}};

}  // namespace predgen
