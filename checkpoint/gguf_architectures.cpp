#include "checkpoint/gguf_fields.h"
#include "checkpoint/gguf_names.h"
#include "model/architectures/layers_by_type.h"

namespace predgen {

void add_gemma3(const GgufFields& fields, int64_t head_dim, Json& json) {
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["sliding_window"] = fields.size("attention.sliding_window");
  json["sliding_window_pattern"] = fields.size("attention.sliding_window_pattern", kGemma3Pattern);
  json["query_pre_attn_scalar"] = gemma3_query_scalar(
      json["num_hidden_layers"], json["hidden_size"], json["num_attention_heads"], head_dim);
  // Ollama has other names.
  const auto base = [&](const char* end, const char* other, double otherwise) {
    return fields.number(end, fields.number(other, otherwise));
  };
  json["rope_theta"] = base("rope.freq_base", "rope.global.freq_base", 1e6);
  json["rope_local_base_freq"] = base("rope.freq_base_swa", "rope.local.freq_base", 1e4);
  const double cap = fields.number("final_logit_softcapping", 0.0);
  if (cap > 0) json["final_logit_softcapping"] = cap;
}

/// Converters write what "layer_types" says, which llama.cpp does
/// not read here.
void add_olmo3(const GgufFile& file, const GgufFields& fields, Json& json) {
  json["sliding_window"] = fields.size("attention.sliding_window");
  const int64_t num_layers = json["num_hidden_layers"];
  const auto slides = file.metadata().find<std::vector<int64_t>>(fields.key(kGgufWindowPattern));
  if (slides && std::ssize(*slides) != num_layers) {
    fields.fail(kGgufWindowPattern, fmt::format("must have {} entries", num_layers));
  }
  json["layer_types"] = Json::array();
  for (int64_t i = 0; i < num_layers; ++i) {
    const bool is_full = (i + 1) % kOlmo3Pattern == 0;
    if (slides && ((*slides)[static_cast<size_t>(i)] == 0) != is_full) {
      fields.fail(kGgufWindowPattern,
                  fmt::format("must be full in every {}th layer, as in llama.cpp", kOlmo3Pattern));
    }
    json["layer_types"].push_back(is_full ? kFullType : kSlidingType);
  }
  Json full = json.value("rope_scaling", Json{{"rope_type", "default"}});
  full["rope_theta"] = json["rope_theta"];
  json.erase("rope_scaling");
  json["rope_parameters"] = {
      {kFullType, full},
      {kSlidingType, {{"rope_type", "default"}, {"rope_theta", json["rope_theta"]}}}};
}

void add_ministral3(const GgufFields& fields, Json& json) {
  Json rope = json.value("rope_scaling", Json{{"rope_type", "default"}});
  rope["rope_theta"] = json["rope_theta"];
  rope["llama_4_scaling_beta"] = fields.number(kGgufTemperatureScale, 0.0);
  const char* key = "rope.scaling.original_context_length";
  if (fields.has(key)) rope["original_max_position_embeddings"] = fields.size(key);
  json.erase("rope_scaling");
  json["rope_parameters"] = rope;
}

bool has_experts(const GgufFields& fields) {
  return fields.architecture() == "qwen3moe" || fields.architecture() == "gpt-oss";
}

void add_experts(const GgufFields& fields, Json& json) {
  json["num_experts_per_tok"] = fields.size("expert_used_count");
  if (fields.architecture() == "qwen3moe") {
    json["num_experts"] = fields.size("expert_count");
    json["moe_intermediate_size"] = fields.size("expert_feed_forward_length");
    json["norm_topk_prob"] = true;
    return;
  }
  json["num_local_experts"] = fields.size("expert_count");
  const int64_t width = json["intermediate_size"];
  if (fields.size("expert_feed_forward_length", width) != width) {
    fields.fail("expert_feed_forward_length",
                fmt::format("must be feed_forward_length ({})", width));
  }
  json["sliding_window"] = fields.size("attention.sliding_window");
  // llama.cpp rounds the bounds of YaRN's ramp; the model was trained without.
  if (json.contains("rope_scaling")) json["rope_scaling"]["truncate"] = false;
}

}  // namespace predgen
