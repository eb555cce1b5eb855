#include "core/error.h"
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

namespace {

constexpr const char *kBeta = "llama_4_scaling_beta", *kRope = "rope_parameters";

/// What transformers takes where a config.json says nothing of positions.
Json usual_ministral3_rope() {
  return {{"rope_type", "yarn"},   {"rope_theta", 1e6}, {"factor", 16.0},
          {"beta_fast", 32.0},     {"beta_slow", 1.0},  {"original_max_position_embeddings", 16384},
          {"mscale_all_dim", 1.0}, {"mscale", 1.0},     {kBeta, 0.1}};
}

void read_ministral3(const ConfigFields& fields, ModelConfig& config) {
  if (fields.word("hidden_act", "silu") != "swish") fields.only("hidden_act", "silu");  // the same
  fields.absent("layer_types");
  if (!fields.has("head_dim")) config.head_dim = 128;
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-5);
  const char* key = fields.has("rope_scaling") ? "rope_scaling" : kRope;
  Json rope = fields.has(key) ? fields.at(key) : usual_ministral3_rope();
  if (!rope.is_object()) fields.fail(key, "must be an object");
  if (!rope.contains("rope_theta") && fields.has("rope_theta")) {
    rope["rope_theta"] = fields.at("rope_theta");
  }
  const ConfigFields own(rope, fmt::format("{}: \"{}\"", fields.where(), key));
  const double beta = own.has(kBeta) && rope[kBeta] != 0 ? own.positive(kBeta) : 0.0;
  const int64_t floor = own.size("original_max_position_embeddings", config.max_positions);
  rope.erase(kBeta);
  rope.erase("max_position_embeddings");  // the model's, once more
  const Json known{{kRope, rope}};
  config.ropes = {RopeConfig::read(ConfigFields(known, fields.where()), config.max_positions)};
  config.ropes.front().query_beta = beta;
  config.ropes.front().original_positions = floor;
  const int64_t window = fields.has("sliding_window") ? fields.size("sliding_window") : 0;
  set_layers({.attention = {.window = window}}, config);
}

void write_ministral3(const ModelConfig& config, Json& json) {
  const RopeConfig& rope = config.ropes.front();
  const int64_t window = config.layer(0).attention.window;
  json["sliding_window"] = window > 0 ? Json(window) : Json();
  Json written = json.value("rope_scaling", Json{{"rope_type", "default"}});
  written["rope_theta"] = rope.theta;
  written["original_max_position_embeddings"] = rope.original_positions;
  written[kBeta] = rope.query_beta;
  json.erase("rope_theta");
  json.erase("rope_scaling");
  json[kRope] = written;
}

}  // namespace

/// Ministral 3: Mistral with positions by YaRN, and queries that grow with the logarithm of their
/// position, in steps of the context before stretching.
const Architecture Architecture::kMinistral3{
    "Ministral3ForCausalLM", "ministral3",     {131072, 4096, 14336, 34, 32, 8, 262144},
    read_ministral3,         write_ministral3, {"Mistral3ForConditionalGeneration", "mistral3"}};

}  // namespace predgen
