#include "checkpoint/gguf_config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "checkpoint/gguf_architectures.h"
#include "checkpoint/gguf_hybrids.h"
#include "checkpoint/gguf_names.h"
#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/rope.h"

namespace predgen {
namespace {

using Fields = GgufFields;

/// Keys below the architecture's name that are read here.
constexpr const char* kRead[] = {"embedding_length",
                                 "feed_forward_length",
                                 "block_count",
                                 "context_length",
                                 "attention.head_count",
                                 "attention.head_count_kv",
                                 "attention.key_length",
                                 "attention.value_length",
                                 "attention.layer_norm_rms_epsilon",
                                 "attention.causal",
                                 "attention.sliding_window",
                                 "rope.dimension_count",
                                 "rope.freq_base",
                                 "rope.scale_linear",
                                 "rope.scaling.type",
                                 "rope.scaling.factor",
                                 "rope.scaling.original_context_length",
                                 "rope.scaling.yarn_beta_fast",
                                 "rope.scaling.yarn_beta_slow"};
constexpr const char* kReadOfGemma3[] = {"attention.sliding_window_pattern", "rope.freq_base_swa",
                                         "rope.global.freq_base", "rope.local.freq_base",
                                         "final_logit_softcapping"};
constexpr const char* kReadOfExperts[] = {"expert_count", "expert_used_count",
                                          "expert_feed_forward_length"};
constexpr const char* kReadOfQwen35Moe[] = {"expert_shared_feed_forward_length"};
constexpr const char* kReadOfLfm2Moe[] = {"leading_dense_block_count", "expert_gating_func"};
constexpr const char* kReadOfMinistral3[] = {kGgufYarnLogMultiplier, kGgufTemperatureScale};
constexpr const char* kReadOfGemma4[] = {"attention.sliding_window_pattern",
                                         "attention.shared_kv_layers",
                                         "attention.key_length_swa",
                                         "attention.value_length_swa",
                                         "embedding_length_per_layer_input",
                                         "rope.dimension_count_swa",
                                         "rope.freq_base_swa",
                                         "final_logit_softcapping"};
constexpr const char* kReadOfYarn[] = {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"};

/// Keys that change nothing that is computed here, or belong to parts that are left out.
constexpr const char* kHarmless[] = {"vocab_size",
                                     "pooling_type",
                                     "tensor_data_layout",
                                     "use_parallel_residual",
                                     "expert_feed_forward_length",
                                     "attention.layer_norm_epsilon",
                                     "rope.scaling.finetuned"};
constexpr const char* kPartsLeftOut[] = {"vision.", "audio.", "mm.", "mm_", "classifier."};

/// Keys that change nothing with this value.
constexpr std::pair<const char*, double> kWithout[] = {{"expert_count", 0},
                                                       {"expert_used_count", 0},
                                                       {"expert_shared_count", 0},
                                                       {"leading_dense_block_count", 0},
                                                       {"nextn_predict_layers", 0},
                                                       {"logit_scale", 0},
                                                       {"logit_scale", 1},
                                                       {"embedding_scale", 0},
                                                       {"embedding_scale", 1},
                                                       {"residual_scale", 0},
                                                       {"residual_scale", 1},
                                                       {"attention.scale", 0},
                                                       {"attention.max_alibi_bias", 0},
                                                       {"attention.clamp_kqv", 0},
                                                       {"attention.shared_kv_layers", 0},
                                                       {"attention.sliding_window_pattern", 0},
                                                       {"attn_logit_softcapping", 0},
                                                       {"final_logit_softcapping", 0},
                                                       {"rope.scaling.attn_factor", 1},
                                                       {"rope.scaling.yarn_attn_factor", 1},
                                                       {"rope.scaling.yarn_log_multiplier", 0},
                                                       {"rope.scaling.yarn_ext_factor", 1},
                                                       {"rope.scaling.yarn_ext_factor", -1}};
/// Keys that change nothing if they give the heads' size.
constexpr const char* kHeadSizes[] = {"attention.key_length_swa", "attention.value_length_swa",
                                      "rope.dimension_count_swa"};

bool is_gemma4(const Fields& fields) { return fields.architecture() == "gemma4"; }
bool is_ministral3(const Fields& fields) { return fields.architecture() == "mistral3"; }
bool has_window(const Fields& fields) { return fields.size("attention.sliding_window", 0) > 0; }

bool is_olmo3(const Fields& fields) {
  return fields.architecture() == "olmo2" && has_window(fields);
}

std::string find_architecture(const Fields& fields, const std::string& where) {
  std::vector<std::string_view> known;
  for (const auto& [gguf, architecture] : kGgufArchitectures) {
    if (fields.architecture() == gguf) {
      if (gguf == "llama" && has_window(fields)) return "MistralForCausalLM";
      if (is_olmo3(fields)) return "Olmo3ForCausalLM";
      return architecture;
    }
    if (std::ranges::find(known, gguf) == known.end()) known.push_back(gguf);
  }
  throw UserError("{}: the architecture \"{}\" is not supported ({})", where, fields.architecture(),
                  fmt::join(known, ", "));
}

const char* model_type_of(const std::string& architecture) {
  return std::ranges::find(architectures(), architecture, &Architecture::name)->model_type;
}

/// Llama 3's scaling, of which a GGUF holds only the divisor of each frequency: uses the factors of
/// the released models and the context that gives these divisors.
Json read_llama3_rope(const GgufFile& file, const Fields& fields, int64_t head_dim, double theta) {
  constexpr int64_t kLeastContext = 16, kLargestContext = int64_t{1} << 20;
  const GgufFile::Entry& entry = file.entry("rope_freqs.weight");
  const at::Tensor divisors = file.read_rows(entry, 0, entry.shape.at(0)).to(at::kFloat);
  const at::Tensor plain = RopeConfig{.theta = theta}.inverse_frequencies(head_dim);
  if (divisors.sizes() == plain.sizes()) {
    RopeConfig rope{.kind = RopeKind::kLlama3,
                    .theta = theta,
                    .factor = divisors.max().item<double>(),
                    .original_positions = kLeastContext};
    for (; rope.original_positions <= kLargestContext; rope.original_positions *= 2) {
      if (!at::allclose(plain / divisors, rope.inverse_frequencies(head_dim), 1e-4, 0)) continue;
      Json json;
      rope.write(json);
      return json;
    }
  }
  throw UserError("{}: rope_freqs.weight is not Llama 3's scaling of {} frequencies: not supported",
                  file.metadata().where(), fields.architecture());
}

void add_rope(const GgufFile& file, const Fields& fields, int64_t head_dim, Json& json) {
  const double theta = fields.number("rope.freq_base", 10000.0);
  if (fields.size("rope.dimension_count", head_dim) != head_dim &&
      !is_gguf_qwen35(fields.architecture())) {
    fields.fail("rope.dimension_count",
                fmt::format("must be the heads' {}: positions in a part of them are not supported",
                            head_dim));
  }
  json["rope_theta"] = theta;
  if (is_gemma4(fields)) {  // by layer
    if (fields.word("rope.scaling.type", "none") != "none" ||
        fields.number("rope.scaling.factor", 0.0) > 1.0 ||
        fields.number("rope.scale_linear", 0.0) > 1.0) {
      fields.fail("rope.scaling.type", "is not supported");
    }
    const int64_t own = fields.size("attention.key_length_swa");
    for (const char* end : {"rope.dimension_count_swa", "attention.value_length_swa"}) {
      if (fields.size(end, own) != own) fields.fail(end, "must be attention.key_length_swa");
    }
    return;
  }
  if (file.entries().contains("rope_freqs.weight")) {
    json.update(read_llama3_rope(file, fields, head_dim, theta));
    return;
  }
  // As in llama.cpp: linear without a type, and the older name of the factor second.
  double factor = fields.number("rope.scaling.factor", 0.0);
  if (factor == 0.0) factor = fields.number("rope.scale_linear", 0.0);
  const std::string type = fields.word("rope.scaling.type", factor == 0.0 ? "none" : "linear");
  if (type == "none") return;
  if (type != "linear" && type != "yarn") {
    fields.fail("rope.scaling.type", fmt::format("is \"{}\" (none, linear, yarn)", type));
  }
  if (factor == 0.0) factor = 1.0;
  Json scaling{{"rope_type", type}, {"factor", factor}};
  if (type == "yarn") {
    scaling["original_max_position_embeddings"] =
        fields.size("rope.scaling.original_context_length", fields.size("context_length"));
    scaling["beta_fast"] = fields.number("rope.scaling.yarn_beta_fast", 32.0);
    scaling["beta_slow"] = fields.number("rope.scaling.yarn_beta_slow", 1.0);
    // llama.cpp multiplies the usual factor by the one key. Converters copy a config.json's whole
    // factor to the other, which llama.cpp does not read for these architectures.
    double usual = yarn_attention_factor(factor);
    const double weight = is_ministral3(fields) ? fields.number(kGgufYarnLogMultiplier, 0.0) : 0.0;
    if (weight != 0.0) usual /= yarn_attention_factor(factor, weight);
    scaling["attention_factor"] = fields.has("rope.scaling.attn_factor")
                                      ? usual * fields.number("rope.scaling.attn_factor")
                                      : fields.number("rope.scaling.yarn_attn_factor", usual);
  }
  json["rope_scaling"] = std::move(scaling);
}

bool is_yarn(const Fields& fields) { return fields.word("rope.scaling.type", "") == "yarn"; }

/// Refuses, by name, what would change the result and is not read.
void check_keys(const Fields& fields, int64_t head_dim) {
  if (!fields.flag("attention.causal", true)) {
    fields.fail("attention.causal", "is false: models that see later tokens are not supported");
  }
  const auto is_in = [](const auto& list, std::string_view end) {
    return std::ranges::find(list, end) != std::end(list);
  };
  for (const std::string& end : fields.ends()) {
    if (is_in(kRead, end) || is_in(kHarmless, end)) continue;
    if (is_in(gguf_hybrid_keys(fields.architecture()), end)) continue;
    if (fields.architecture() == "gemma3" && is_in(kReadOfGemma3, end)) continue;
    if (has_experts(fields) && is_in(kReadOfExperts, end)) continue;
    if (fields.architecture() == "qwen35moe" && is_in(kReadOfQwen35Moe, end)) continue;
    if (fields.architecture() == "lfm2moe" && is_in(kReadOfLfm2Moe, end)) continue;
    if (is_gemma4(fields) && is_in(kReadOfGemma4, end)) continue;
    if (is_ministral3(fields) && is_in(kReadOfMinistral3, end)) continue;
    if (is_olmo3(fields) && end == kGgufWindowPattern) continue;
    if (is_yarn(fields) && is_in(kReadOfYarn, end)) continue;
    const auto begins = [&](const char* part) { return end.starts_with(part); };
    if (std::ranges::any_of(kPartsLeftOut, begins)) continue;
    if (is_in(kHeadSizes, end) && fields.size(end.c_str()) == head_dim) continue;
    const auto changes_nothing = [&](const auto& one) {
      return end == one.first && fields.number(one.first) == one.second;
    };
    if (std::ranges::any_of(kWithout, changes_nothing)) continue;
    fields.fail(end.c_str(), "is not supported, and may change the result");
  }
}

/// The type of most of a model's weights, in transformers' spelling.
const char* stored_type(const GgufFile& file) {
  auto found = file.entries().find("blk.0.ffn_down.weight");
  if (found == file.entries().end()) found = file.entries().find("blk.0.ffn_down_exps.weight");
  if (found == file.entries().end()) return "bfloat16";
  switch (found->second.type->plain) {
    case at::kFloat:
      return "float32";
    case at::kHalf:
      return "float16";
    default:
      return "bfloat16";
  }
}

}  // namespace

Json read_gguf_config(const GgufFile& file) {
  const std::string& where = file.metadata().where();
  const Fields fields(file.metadata());
  const std::string architecture = find_architecture(fields, where);
  const std::string& gguf = fields.architecture();
  const bool is_llama = gguf == "llama", slides = has_window(fields);
  constexpr std::string_view kWithWindows[] = {"gemma3", "gemma4", "gpt-oss", "olmo2"};
  if (slides && !is_llama && std::ranges::find(kWithWindows, gguf) == std::end(kWithWindows)) {
    fields.fail("attention.sliding_window", "is not supported");
  }
  // Tied embeddings may be there as the head alone.
  const bool has_embedding = file.entries().contains("token_embd.weight");
  const bool has_head = file.entries().contains("output.weight");
  const std::vector<int64_t>& embedding =
      file.entry(has_head && !has_embedding ? "output.weight" : "token_embd.weight").shape;
  if (embedding.size() != 2) throw UserError("{}: token_embd.weight is no matrix", where);

  const int64_t num_layers = fields.size("block_count");
  if (num_layers < 1 || num_layers > kMaxLayers) {
    fields.fail("block_count", fmt::format("must be 1 to {}", kMaxLayers));
  }
  Json json{{"architectures", Json::array({architecture})},
            {"model_type", model_type_of(architecture)},
            {"vocab_size", embedding[0]},
            {"hidden_size", fields.size("embedding_length")},
            {"intermediate_size", is_gemma4(fields) ? 0
                                  : has_experts(fields) && !fields.has("feed_forward_length")
                                      ? fields.size("expert_feed_forward_length")
                                      : fields.size("feed_forward_length")},
            {"num_hidden_layers", num_layers},
            {"num_attention_heads", fields.size("attention.head_count")},
            {"max_position_embeddings", fields.size("context_length")},
            {"rms_norm_eps", fields.number("attention.layer_norm_rms_epsilon")},
            {"tie_word_embeddings", !has_head || !has_embedding},
            {"torch_dtype", stored_type(file)}};
  const int64_t heads = json["num_attention_heads"];
  if (heads < 1) fields.fail("attention.head_count", "must be at least 1");
  if (!is_gguf_lfm2(gguf) && !is_gemma4(fields)) {  // whose layers differ
    json["num_key_value_heads"] = fields.size("attention.head_count_kv", heads);
  }
  const int64_t head_dim =
      fields.size("attention.key_length", json["hidden_size"].get<int64_t>() / heads);
  json["head_dim"] = head_dim;
  if (fields.size("attention.value_length", head_dim) != head_dim) {
    fields.fail("attention.value_length", "must be that of keys");
  }
  check_keys(fields, head_dim);
  read_gguf_hybrid(file.metadata(), gguf, json);
  add_rope(file, fields, head_dim, json);
  if (is_llama) {
    // transformers has one flag for all four.
    if (!slides) json["attention_bias"] = file.entries().contains("blk.0.attn_q.bias");
    if (!slides) json["mlp_bias"] = file.entries().contains("blk.0.ffn_up.bias");
    if (slides) json["sliding_window"] = fields.size("attention.sliding_window");
  } else if (gguf == "gemma3") {
    add_gemma3(fields, head_dim, json);
  } else if (is_ministral3(fields)) {
    add_ministral3(fields, json);
  } else if (is_gguf_qwen35(gguf)) {
    const std::string last =
        fmt::format("blk.{}.attn_q.bias", json["full_attention_interval"].get<int64_t>() - 1);
    json["attention_bias"] = file.entries().contains(last);
  } else if (gguf != "qwen2" && !is_gguf_lfm2(gguf)) {
    json["attention_bias"] = file.entries().contains("blk.0.attn_q.bias");
  }
  if (has_experts(fields)) add_experts(file, fields, json);
  if (is_gemma4(fields)) add_gemma4(file, fields, json);
  if (is_olmo3(fields)) add_olmo3(file, fields, json);
  return json;
}

}  // namespace predgen
