#include <charconv>
#include <cmath>

#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/architectures/layers_by_type.h"

namespace predgen {
namespace {

constexpr int64_t kGemma4Pattern = 6, kGlobalHeadDim = 512;
constexpr const char* kPerLayer = "per_layer_config";
// Of assistants, beside their text_config.
constexpr const char *kModelSize = "backbone_hidden_size", *kClustered = "use_ordered_embeddings",
                     *kClusters = "num_centroids", *kChosenClusters = "centroid_intermediate_top_k";

/// What a newer file says of each layer, null of those that are as the others: transformers pads
/// the numbers of layers with zeros.
std::vector<const Json*> read_own(const ConfigFields& fields, size_t num_layers) {
  std::vector<const Json*> own(num_layers, nullptr);
  const Json& all = fields.at(kPerLayer);
  if (!all.is_object()) fields.fail(kPerLayer, "must be an object");
  for (auto it = all.begin(); it != all.end(); ++it) {
    const std::string& key = it.key();
    size_t i = num_layers;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), i);
    if (error != std::errc() || end != key.data() + key.size() || i >= num_layers ||
        !it.value().is_object() || own[i] != nullptr) {
      fields.fail(kPerLayer, "must have objects by the numbers of layers");
    }
    own[i] = &it.value();
  }
  return own;
}

/// The heads of layers without a window: fields of their own, or of each layer in newer files.
void read_gemma4_heads(const ConfigFields& fields, ModelConfig& config) {
  const bool key_is_value = fields.flag("attention_k_eq_v", false);
  const bool has_layers = fields.has(kPerLayer);
  const auto by_layer =
      has_layers ? read_own(fields, config.layers.size()) : std::vector<const Json*>();
  for (size_t i = 0; i < config.layers.size(); ++i) {
    AttentionSpec& spec = config.layers[i].attention;
    const std::string name = std::to_string(i);
    spec.value_is_key = key_is_value && spec.window == 0;
    if (has_layers ? by_layer[i] == nullptr : spec.window > 0) continue;
    const Json& own = has_layers ? *by_layer[i] : fields.json();
    const ConfigFields layer(
        own, has_layers ? fmt::format("{}: \"{}\": {}", fields.where(), kPerLayer, name)
                        : fields.where());
    if (has_layers) {
      for (const auto& [key, value] : own.items()) {
        if (key != "head_dim" && key != "num_key_value_heads") layer.absent(key.c_str());
      }
      spec.head_dim = layer.size("head_dim", config.head_dim);
      spec.num_kv_heads = layer.size("num_key_value_heads", config.num_kv_heads);
    } else {
      spec.head_dim = layer.size("global_head_dim", kGlobalHeadDim);
      spec.num_kv_heads = key_is_value
                              ? layer.size("num_global_key_value_heads", config.num_kv_heads)
                              : config.num_kv_heads;
    }
    if (spec.head_dim % 2 != 0 || spec.head_dim > kMaxHeadDim) {
      layer.fail("head_dim", fmt::format("must be even, and at most {}", kMaxHeadDim));
    }
    if (config.num_heads % spec.num_kv_heads != 0) {
      layer.fail("num_key_value_heads", "must divide \"num_attention_heads\"");
    }
  }
}

constexpr const char* kShared = "num_kv_shared_layers";

/// The last layers read the keys and values of the last one before them that is of their type.
void read_gemma4_sharing(const ConfigFields& fields, ModelConfig& config) {
  const int64_t num_layers = config.num_layers();
  const bool is_set = fields.has(kShared) && fields.at(kShared) != 0;
  const int64_t count = is_set ? fields.size(kShared) : 0;
  if (config.assistant) {
    if (is_set && count != num_layers) fields.fail(kShared, "must be all layers of an assistant");
    for (LayerSpec& layer : config.layers) layer.attention.shares = kOfAnotherModel;
    return;
  }
  if (count >= num_layers) fields.fail(kShared, "must leave layers of their own");
  const bool is_wide = fields.flag("use_double_wide_mlp", false);
  for (int64_t i = num_layers - count; i < num_layers; ++i) {
    LayerSpec& layer = config.layers[static_cast<size_t>(i)];
    int64_t source = num_layers - count - 1;
    while (source >= 0 &&
           (config.layer(source).attention.window > 0) != (layer.attention.window > 0)) {
      --source;
    }
    if (source < 0) fields.fail(kShared, "must leave a layer of each type");
    const AttentionSpec& theirs = config.layer(source).attention;
    if (config.num_kv_heads_of(layer.attention) != config.num_kv_heads_of(theirs) ||
        config.head_dim_of(layer.attention) != config.head_dim_of(theirs)) {
      fields.fail(kPerLayer, fmt::format("must give layer {} the heads of layer {}", i, source));
    }
    layer.attention.shares = source;
    if (is_wide) layer.feed_forward.width = 2 * config.intermediate_size;
  }
}

RopeConfig read_gemma4_rope(const ConfigFields& fields, const ModelConfig& config,
                            const char* type) {
  Json rope = rope_fields(fields, type);
  const bool is_full = type == kFullType;
  if (!fields.has("rope_parameters") && is_full) {
    rope.update(Json{{"rope_type", "proportional"}, {"partial_rotary_factor", 0.25}});
  }
  if (!rope.contains("rope_theta")) rope["rope_theta"] = is_full ? 1e6 : 1e4;
  RopeConfig read = read_rope_of(fields, config, type, rope);
  for (const LayerSpec& layer : config.layers) {
    if ((layer.attention.window == 0) != is_full) continue;
    const int64_t own = config.head_dim_of(layer.attention);
    if (read.own_head_dim > 0 && read.own_head_dim != own) {
      fields.fail(kPerLayer, fmt::format("must give all layers of {} heads of one size", type));
    }
    read.own_head_dim = own;
  }
  return read;
}

/// Beside the MLP of every layer, in the 26B-A4B.
ExpertsSpec read_gemma4_experts(const ConfigFields& fields) {
  if (!fields.flag("enable_moe_block", false)) return {};
  for (const char* key : {"num_experts", "top_k_experts"}) {
    if (!fields.has(key)) fields.fail(key, "is missing");
  }
  ExpertsSpec experts =
      read_experts(fields, {.chosen = "top_k_experts"}, fields.size("moe_intermediate_size"));
  experts.is_normalised = experts.input_scale = experts.expert_scale = experts.beside_mlp = true;
  experts.activation = Activation::kGeluTanh;
  experts.storage = ExpertStorage::kStacked;
  experts.is_fused_in_gguf = true;
  experts.names.router = {"router.proj", "ffn_gate_inp"};
  experts.names.gate = {"experts.{}.gate_proj", "ffn_gate_exps"};
  experts.names.up = {"experts.{}.up_proj", "ffn_up_exps"};
  experts.names.down = {"experts.{}.down_proj", "ffn_down_exps"};
  experts.names.gate_up_stack = {"experts.gate_up_proj", "ffn_gate_up_exps"};
  experts.names.down_stack = "experts.down_proj";
  return experts;
}

/// How many values each layer gets of each token beside the others' output; 0: none.
int64_t read_layer_input_width(const ConfigFields& fields, const ModelConfig& config) {
  constexpr const char *kInputs = "hidden_size_per_layer_input",
                       *kRows = "vocab_size_per_layer_input";
  const bool has_none = fields.has(kInputs) && fields.at(kInputs) == 0;
  if (has_none || fields.is_null(kInputs)) return 0;
  if (fields.size(kRows, 262144) != config.vocab_size) fields.fail(kRows, "must be \"vocab_size\"");
  return fields.size(kInputs, 256);
}

/// All but inputs by layer and experts.
void read_gemma4_layers(const ConfigFields& fields, const ExpertsSpec& experts,
                        int64_t usual_window, ModelConfig& config) {
  fields.only("hidden_act", kGeluTanh);
  fields.only("hidden_activation", kGeluTanh);
  if (fields.word("use_bidirectional_attention", "vision") != "vision") {
    fields.fail("use_bidirectional_attention", "must be null or vision: texts are read forwards");
  }
  const bool bias = fields.flag("attention_bias", false);
  set_layers({.attention = {.qk_norm = QkNorm::kHead,
                            .qkv_bias = bias,
                            .o_bias = bias,
                            .query_scalar = 1.0,
                            .value_norm = true},
              .feed_forward = {.activation = Activation::kGeluTanh},
              .experts = experts,
              .layer_input = config.layer_input_width > 0,
              .output_scale = true,
              .norm_after = true},
             config);
  config.norm_scales_wide = true;
  config.logit_softcap = fields.positive("final_logit_softcapping", 0);
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  if (!fields.has("head_dim")) config.head_dim = 256;
  read_layer_types(fields, kGemma4Pattern, usual_window, config);
  config.layers.back().attention.window = 0;  // like the reference
  use_rope_by_type(config);
  read_gemma4_heads(fields, config);
  read_gemma4_sharing(fields, config);
  config.ropes = {read_gemma4_rope(fields, config, kFullType),
                  read_gemma4_rope(fields, config, kSlidingType)};
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", true);
}

void read_gemma4(const ConfigFields& fields, ModelConfig& config) {
  config.layer_input_width = read_layer_input_width(fields, config);
  read_gemma4_layers(fields, read_gemma4_experts(fields), 512, config);
}

void read_gemma4_unified(const ConfigFields& fields, ModelConfig& config) {
  fields.only("hidden_size_per_layer_input", 0);
  fields.only("enable_moe_block", false);
  read_gemma4_layers(fields, {}, 1024, config);
}

/// The sizes of the model that an assistant guesses for, and its clusters of tokens.
void read_assistant(const ConfigFields& fields, ModelConfig& config) {
  AssistantSpec& spec = config.assistant.emplace();
  spec.hidden_size = fields.size(kModelSize, 1536);
  if (!fields.flag(kClustered, false)) return;
  spec.num_clusters = fields.size(kClusters, 2048);
  spec.num_chosen = fields.size(kChosenClusters, 32);
  if (config.vocab_size % spec.num_clusters != 0 || spec.num_chosen > spec.num_clusters) {
    fields.fail(kClusters, "must divide \"vocab_size\", and not be fewer than are chosen");
  }
}

template <int64_t kWindow>
void read_gemma4_assistant(const ConfigFields& fields, ModelConfig& config) {
  fields.only("hidden_size_per_layer_input", 0);
  fields.only("enable_moe_block", false);
  fields.only("use_double_wide_mlp", false);
  read_assistant(fields, config);
  read_gemma4_layers(fields, {}, kWindow, config);
  config.logit_softcap = 0;  // like the reference
}

/// The heads of layers without a window, if the two fields of older files can say them; else of
/// each layer that has its own.
void write_gemma4_heads(const ModelConfig& config, Json& json) {
  const AttentionSpec& last = config.layers.back().attention;  // without a window
  const int64_t own_heads = last.value_is_key ? config.num_kv_heads_of(last) : config.num_kv_heads;
  Json by_layer = Json::object();
  bool is_by_type = true;
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    const AttentionSpec& spec = config.layer(i).attention;
    const int64_t head_dim = config.head_dim_of(spec), heads = config.num_kv_heads_of(spec);
    const bool is_usual = head_dim == config.head_dim && heads == config.num_kv_heads;
    is_by_type =
        is_by_type &&
        (spec.window > 0 ? is_usual : head_dim == config.head_dim_of(last) && heads == own_heads);
    if (is_usual) continue;
    by_layer[std::to_string(i)] = {{"head_dim", head_dim}, {"num_key_value_heads", heads}};
  }
  if (!is_by_type) {
    json[kPerLayer] = std::move(by_layer);
    return;
  }
  json["global_head_dim"] = config.head_dim_of(last);
  json["num_global_key_value_heads"] = last.value_is_key ? Json(own_heads) : Json();
}

void write_gemma4_unified(const ModelConfig& config, Json& json) {
  const AttentionSpec& last = config.layers.back().attention;  // without a window
  json["attention_bias"] = last.qkv_bias;
  json["attention_k_eq_v"] = last.value_is_key;
  json["final_logit_softcapping"] = config.logit_softcap > 0 ? Json(config.logit_softcap) : Json();
  write_gemma4_heads(config, json);
  json["hidden_activation"] = kGeluTanh;
  int64_t num_shared = 0;
  for (const LayerSpec& layer : config.layers) num_shared += layer.attention.shares >= 0 ? 1 : 0;
  json["num_kv_shared_layers"] = num_shared;
  json["use_double_wide_mlp"] = config.layers.back().feed_forward.width > 0;
  write_layer_types(config, json);
  write_ropes_by_type(config, json);
}

void write_gemma4_assistant(const ModelConfig& config, Json& json) {
  write_gemma4_unified(config, json);
  const AssistantSpec& spec = *config.assistant;
  json[kModelSize] = spec.hidden_size;
  json[kClustered] = spec.num_clusters > 0;
  if (spec.num_clusters == 0) return;
  json[kClusters] = spec.num_clusters;
  json[kChosenClusters] = spec.num_chosen;
}

void write_gemma4(const ModelConfig& config, Json& json) {
  write_gemma4_unified(config, json);
  json["hidden_size_per_layer_input"] = config.layer_input_width;
  json["vocab_size_per_layer_input"] = config.vocab_size;
  const ExpertsSpec& experts = config.layer(0).experts;
  json["enable_moe_block"] = experts.count > 0;
  if (experts.count == 0) return;
  json["num_experts"] = experts.count;
  json["top_k_experts"] = experts.chosen;
  json["moe_intermediate_size"] = experts.width;
}

}  // namespace

/// Gemma 4, text only: heads, positions and keys by the type of a layer; the last layers read the
/// keys and values of earlier ones; each layer gets a part of a second embedding; or experts beside
/// the MLPs.
const Architecture Architecture::kGemma4{
    "Gemma4ForCausalLM", "gemma4_text", {262144, 2304, 9216, 30, 8, 4, 131072},
    read_gemma4,         write_gemma4,  {"Gemma4ForConditionalGeneration", "gemma4"}};
/// The same without inputs by layer and experts, as the 12B has it.
const Architecture Architecture::kGemma4Unified{
    "Gemma4UnifiedForCausalLM",
    "gemma4_unified_text",
    {262144, 2304, 9216, 30, 8, 4, 262144},
    read_gemma4_unified,
    write_gemma4_unified,
    {"Gemma4UnifiedForConditionalGeneration", "gemma4_unified"}};

/// What guesses for the two: a few layers of the same kind over the keys and values of the model.
const Architecture Architecture::kGemma4Assistant{
    "Gemma4AssistantForCausalLM",
    "gemma4_text",
    {262144, 2304, 9216, 30, 8, 4, 131072},
    read_gemma4_assistant<512>,
    write_gemma4_assistant,
    {"Gemma4AssistantForCausalLM", "gemma4_assistant"}};
const Architecture Architecture::kGemma4UnifiedAssistant{
    "Gemma4UnifiedAssistantForCausalLM",
    "gemma4_unified_text",
    {262144, 2304, 9216, 30, 8, 4, 262144},
    read_gemma4_assistant<1024>,
    write_gemma4_assistant,
    {"Gemma4UnifiedAssistantForCausalLM", "gemma4_unified_assistant"}};

}  // namespace predgen
