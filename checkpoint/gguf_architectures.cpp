#include "checkpoint/gguf_architectures.h"

#include <algorithm>

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

namespace {

/// Of the pairs of a head, the share that turns: the first ones, whose divisor is 1.
double proportion_of(const GgufFile& file) {
  const auto found = file.entries().find(kGgufRopeDivisors);
  if (found == file.entries().end()) return 1.0;
  const at::Tensor divisors = file.read_rows(found->second, 0, found->second.shape.at(0));
  const at::Tensor wide = divisors.to(at::kFloat).contiguous();
  const int64_t turned = wide.eq(1.0).sum().item<int64_t>(), all = wide.numel();
  const bool are_first = wide.narrow(0, 0, turned).eq(1.0).all().item<bool>();
  if (!are_first ||
      wide.narrow(0, turned, all - turned).lt(0.9 * kGgufUnturned).any().item<bool>()) {
    throw UserError("{}: {} must be 1, and {:g} for pairs that do not turn",
                    file.metadata().where(), kGgufRopeDivisors, kGgufUnturned);
  }
  return static_cast<double>(turned) / static_cast<double>(all);
}

}  // namespace

void add_gemma4(const GgufFile& file, const GgufFields& fields, Json& json) {
  const int64_t num_layers = json["num_hidden_layers"];
  const auto has = [&](int64_t layer, const char* part) {
    return file.entries().contains(fmt::format("blk.{}.{}.weight", layer, part));
  };
  const std::vector<int64_t> slides = fields.sizes(kGgufWindowPattern, num_layers);
  const std::vector<int64_t> widths = fields.sizes("feed_forward_length", num_layers);
  const std::vector<int64_t> kv_heads = fields.sizes("attention.head_count_kv", num_layers);
  const int64_t num_shared = fields.size("attention.shared_kv_layers", 0);
  Json types = Json::array();
  for (size_t i = 0; i < slides.size(); ++i) {
    const bool is_full = slides[i] == 0, is_own = static_cast<int64_t>(i) < num_layers - num_shared;
    types.push_back(is_full ? kFullType : kSlidingType);
    if (is_full && is_own) {
      json["attention_k_eq_v"] = !has(static_cast<int64_t>(i), "attn_v");
    }
    if (widths[i] != widths[0] && (is_own || widths[i] != 2 * widths[0])) {
      fields.fail("feed_forward_length", "must be one number, or twice it where keys are shared");
    }
  }
  const int64_t full_dim = json["head_dim"], dim = fields.size("attention.key_length_swa");
  const auto first_sliding = std::ranges::find_if(slides, [](int64_t on) { return on != 0; });
  const int64_t heads =
      kv_heads[first_sliding == slides.end() ? 0 : first_sliding - slides.begin()];
  Json own = Json::object();  // of layers that differ from the usual
  for (size_t i = 0; i < slides.size(); ++i) {
    const int64_t size = slides[i] == 0 ? full_dim : dim;
    if (size == dim && kv_heads[i] == heads) continue;
    own[std::to_string(i)] = {{"head_dim", size}, {"num_key_value_heads", kv_heads[i]}};
  }
  json["num_key_value_heads"] = heads;
  json["per_layer_config"] = own;
  json["layer_types"] = types;
  json["intermediate_size"] = widths.front();
  json["use_double_wide_mlp"] = widths.back() != widths.front();
  json["num_kv_shared_layers"] = num_shared;
  json["sliding_window"] = fields.size("attention.sliding_window");
  json["head_dim"] = dim;
  json["hidden_size_per_layer_input"] = fields.size("embedding_length_per_layer_input", 0);
  json["vocab_size_per_layer_input"] = json["vocab_size"];
  json["hidden_activation"] = "gelu_pytorch_tanh";
  const double cap = fields.number("final_logit_softcapping", 0.0);
  if (cap > 0) json["final_logit_softcapping"] = cap;
  json.erase("rope_theta");
  json["rope_parameters"] = {
      {kFullType,
       {{"rope_type", "proportional"},
        {"partial_rotary_factor", proportion_of(file)},
        {"rope_theta", fields.number("rope.freq_base", 1e6)}}},
      {kSlidingType,
       {{"rope_type", "default"}, {"rope_theta", fields.number("rope.freq_base_swa", 1e4)}}}};
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
  const std::string& name = fields.architecture();
  return name == "qwen3moe" || name == "gpt-oss" || name == "qwen35moe" || name == "lfm2moe" ||
         (name == "gemma4" && fields.size("expert_count", 0) > 0);
}

void add_experts(const GgufFile& file, const GgufFields& fields, Json& json) {
  const int64_t num_chosen = fields.size("expert_used_count");
  if (fields.architecture() == "gemma4") {
    json.update({{"enable_moe_block", true},
                 {"num_experts", fields.size("expert_count")},
                 {"top_k_experts", num_chosen},
                 {"moe_intermediate_size", fields.size("expert_feed_forward_length")}});
    return;
  }
  json["num_experts_per_tok"] = num_chosen;
  if (fields.architecture() != "gpt-oss") {
    json["num_experts"] = fields.size("expert_count");
    json["moe_intermediate_size"] = fields.size("expert_feed_forward_length");
    json["norm_topk_prob"] = true;
    if (fields.architecture() == "qwen35moe") {
      json["shared_expert_intermediate_size"] = fields.size("expert_shared_feed_forward_length");
    }
    if (fields.architecture() != "lfm2moe") return;
    if (fields.size("expert_gating_func") != kGgufSigmoid) {
      fields.fail("expert_gating_func", fmt::format("must be {} (sigmoid)", kGgufSigmoid));
    }
    const int64_t num_dense = fields.size("leading_dense_block_count", 0);
    json["num_dense_layers"] = num_dense;
    json["use_expert_bias"] =
        file.entries().contains(fmt::format("blk.{}.exp_probs_b.bias", num_dense));
    return;
  }
  json["num_local_experts"] = fields.size("expert_count");
  const int64_t width = json["intermediate_size"];
  if (fields.size("expert_feed_forward_length", width) != width) {
    fields.fail("expert_feed_forward_length",
                fmt::format("must be feed_forward_length ({})", width));
  }
  json["sliding_window"] = fields.size("attention.sliding_window");
  if (json.contains("rope_scaling")) {
    // llama.cpp rounds the bounds of YaRN's ramp; the model was trained without.
    json["rope_scaling"]["truncate"] = false;
  } else {
    json["rope_scaling"] = {{"rope_type", "default"}};  // left out of a config.json, it is YaRN's
  }
}

}  // namespace predgen
