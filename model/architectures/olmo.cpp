#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/architectures/layers_by_type.h"

namespace predgen {
namespace {

/// What both have.
void read_norms_behind(const ConfigFields& fields, ModelConfig& config) {
  const bool bias = fields.flag("attention_bias", false);
  set_layers({.attention = {.qk_norm = QkNorm::kWidth, .qkv_bias = bias, .o_bias = bias},
              .norm_before = false,
              .norm_after = true},
             config);
  config.norm_scales_wide = true;
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-5);
}

void write_bias(const ModelConfig& config, Json& json) {
  json["attention_bias"] = config.layer(0).attention.qkv_bias;
}

void read_olmo2(const ConfigFields& fields, ModelConfig& config) {
  read_plain_layers(fields, config);
  read_norms_behind(fields, config);
  fields.absent("sliding_window");
}

constexpr double kOlmo3Theta = 5e5;

void read_olmo3(const ConfigFields& fields, ModelConfig& config) {
  if (fields.word("hidden_act", "silu") != "swish") fields.only("hidden_act", "silu");  // the same
  read_norms_behind(fields, config);
  read_layer_types(fields, 4, 4096, config);
  use_rope_by_type(config);
  Json full = rope_fields(fields, kFullType), sliding = rope_fields(fields, kSlidingType);
  // Like the reference: a "rope_theta" beside the other fields is the base of one type, and the
  // other has the usual one.
  double theta = fields.positive("rope_theta", kOlmo3Theta);
  for (Json* rope : {&full, &sliding}) {
    if (!rope->contains("rope_theta")) (*rope)["rope_theta"] = theta;
    theta = kOlmo3Theta;
  }
  config.ropes = {read_rope_of(fields, config, kFullType, full),
                  read_rope_of(fields, config, kSlidingType, sliding)};
}

void write_olmo3(const ModelConfig& config, Json& json) {
  write_bias(config, json);
  write_layer_types(config, json);
  write_ropes_by_type(config, json);
}

}  // namespace

/// OLMo 2: norms after attention and MLP instead of before, queries and keys normed over their
/// full width.
const Architecture Architecture::kOlmo2{
    "Olmo2ForCausalLM", "olmo2", {50304, 4096, 11008, 32, 32, 0, 2048}, read_olmo2, write_bias};

/// OLMo 3: OLMo 2 with windows in three of four layers, whose positions are not stretched.
const Architecture Architecture::kOlmo3{
    "Olmo3ForCausalLM", "olmo3", {50304, 4096, 11008, 32, 32, 0, 2048}, read_olmo3, write_olmo3};

}  // namespace predgen
