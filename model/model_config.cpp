#include "model/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/parts/assistant.h"
#include "model/parts/decoder_layer.h"
#include "model/parts/layer_inputs.h"
#include "model/parts/mtp_input.h"

namespace predgen {

std::string stored_type(const ConfigFields& fields) {
  constexpr const char* kKey = "quantization_config";
  if (!fields.has(kKey)) return "";
  const ConfigFields found(fields.at(kKey), fields.where() + ": " + kKey);
  const std::string method = found.word("quant_method", "");
  if (method == "mxfp4") return method;
  if (method == "bitsandbytes" && found.flag("load_in_4bit", false)) {
    std::string type = found.word("bnb_4bit_quant_type", "fp4");
    if (type == "nf4" || type == "fp4") return type;
  }
  throw UserError(
      "{}: \"{}\" is not supported, except for bitsandbytes in 4 bits (nf4, fp4) and mxfp4: take "
      "the "
      "model in bfloat16, or a GGUF file of it",
      fields.where(), kKey);
}

namespace {

// Far above any model, so that products of sizes cannot overflow.
constexpr int64_t kMaxExperts = 1 << 16;  // of all layers, each of which has matrices of its own
constexpr double kMaxParameters = 1e15;

/// The part of the configuration that is the text model's.
Json text_part(const Json& json, const std::string& where) {
  constexpr const char* kText = "text_config";
  if (!json.contains(kText)) return json;
  if (!json[kText].is_object()) throw UserError("{}: \"{}\" must be an object", where, kText);
  Json text = json[kText];
  const Json named = json.value("architectures", Json::array());
  const Architecture* own = nullptr;
  for (const Architecture& arch : architectures()) {
    const bool is_typed =
        named.empty() && json.value("model_type", Json()) == arch.wider.model_type;
    if (named != Json::array({arch.wider.architecture}) && !is_typed) continue;
    const Json type = text.value("model_type", Json());
    if (type.is_null() ? own == nullptr : type == arch.model_type) own = &arch;
  }
  if (own == nullptr) return json;
  text["architectures"] = Json::array({own->name});
  text["model_type"] = own->model_type;
  for (const char* key : {"tie_word_embeddings", "dtype", "torch_dtype", "quantization_config",
                          "backbone_hidden_size", "use_ordered_embeddings", "num_centroids",
                          "centroid_intermediate_top_k"}) {
    if (json.contains(key)) text[key] = json[key];
  }
  return text;
}

const Architecture& known_architecture(const Json& json, const std::string& where) {
  std::string found;
  if (json.contains("architectures") && json["architectures"].is_array() &&
      !json["architectures"].empty()) {
    found = json["architectures"][0].is_string() ? json["architectures"][0].get<std::string>() : "";
    for (const Architecture& arch : architectures()) {
      if (found == arch.name) return arch;
    }
  } else {
    found = json_get<std::string>(json, "model_type", where);
    for (const Architecture& arch : architectures()) {
      if (found == arch.model_type) return arch;
    }
  }
  std::string known;
  for (const Architecture& arch : architectures()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", arch.name);
  }
  throw UserError("{}: \"architectures\": \"{}\" is unknown; known: {}", where, found, known);
}

std::string read_dtype(const ConfigFields& fields) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key)) return "float32";
  const std::string name = fields.at(key).is_string() ? fields.at(key).get<std::string>() : "";
  if (name != "float32" && name != "bfloat16" && name != "float16") {
    fields.fail(key,
                fmt::format("must be float32, bfloat16 or float16, not {}", fields.at(key).dump()));
  }
  return name;
}

void read_heads(const ConfigFields& fields, const UsualSizes& usual, ModelConfig& config) {
  config.num_heads = fields.size("num_attention_heads", usual.num_heads);
  // The architectures differ on a missing key; null means one per head.
  const bool is_one_each = fields.is_null("num_key_value_heads") || usual.num_kv_heads == 0;
  config.num_kv_heads =
      fields.size("num_key_value_heads", is_one_each ? config.num_heads : usual.num_kv_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    throw UserError(
        "{}: \"num_attention_heads\" ({}) must be a multiple of \"num_key_value_heads\" ({})",
        fields.where(), config.num_heads, config.num_kv_heads);
  }
  if (!fields.has("head_dim") && usual.head_dim == 0 &&
      config.hidden_size % config.num_heads != 0) {
    throw UserError("{}: \"hidden_size\" ({}) must be a multiple of \"num_attention_heads\" ({})",
                    fields.where(), config.hidden_size, config.num_heads);
  }
  config.head_dim = fields.size(
      "head_dim", usual.head_dim > 0 ? usual.head_dim : config.hidden_size / config.num_heads);
  if (config.head_dim > kMaxHeadDim) {
    throw UserError("{}: \"head_dim\" ({}) must be at most {}", fields.where(), config.head_dim,
                    kMaxHeadDim);
  }
  if (config.head_dim % 2 != 0) {
    throw UserError("{}: \"head_dim\" ({}) must be even for rotary positions", fields.where(),
                    config.head_dim);
  }
}

/// In floating point, before any integer multiplication.
void check_total(const ModelConfig& config, const std::string& where) {
  const auto E = static_cast<double>(config.hidden_size);
  const auto heads = static_cast<double>(config.num_heads + config.num_kv_heads);
  const double layer = 2 * E * heads * static_cast<double>(config.head_dim) +
                       3 * E * static_cast<double>(config.intermediate_size);
  double total = layer * static_cast<double>(config.num_layers()) +
                 2 * E * static_cast<double>(config.vocab_size);
  int64_t num_experts = 0;
  for (const LayerSpec& own : config.layers) {
    const ExpertsSpec& experts = own.experts;
    total += 3 * E * static_cast<double>(experts.width) * static_cast<double>(experts.count);
    num_experts += experts.count;
  }
  if (num_experts > kMaxExperts) {
    throw UserError("{}: its layers have {} experts, at most {} are supported", where, num_experts,
                    kMaxExperts);
  }
  if (total > kMaxParameters) {
    throw UserError("{}: its sizes ask for {:.3g} parameters: one of them is wrong", where, total);
  }
}

}  // namespace

ModelConfig ModelConfig::from_json(const Json& whole, const std::string& where) {
  if (!whole.is_object()) throw UserError("{}: must be a JSON object", where);
  const Json json = text_part(whole, where);
  const Architecture& arch = known_architecture(json, where);
  const ConfigFields fields(json, where);
  fields.only("model_type", arch.model_type);
  if (arch.usual.rotary_share == 1.0) fields.only("partial_rotary_factor", 1.0);
  stored_type(fields);  // refuses those that cannot be read
  fields.absent("compression_config");
  ModelConfig config;
  config.architecture = arch.name;
  config.vocab_size = fields.size("vocab_size", arch.usual.vocab_size);
  config.hidden_size = fields.size("hidden_size", arch.usual.hidden_size);
  config.intermediate_size = fields.size("intermediate_size", arch.usual.intermediate_size);
  const int64_t num_layers = fields.size("num_hidden_layers", arch.usual.num_layers);
  if (num_layers > kMaxLayers) {
    fields.fail("num_hidden_layers", fmt::format("must be at most {}", kMaxLayers));
  }
  config.layers.resize(static_cast<size_t>(num_layers));
  read_heads(fields, arch.usual, config);
  config.max_positions = fields.size("max_position_embeddings", arch.usual.max_positions);
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-6);
  config.initializer_range = fields.positive("initializer_range", 0.02);
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", false);
  config.dtype = read_dtype(fields);
  config.ropes.front() = {.theta = arch.usual.rope_theta, .share = arch.usual.rotary_share};
  arch.read(fields, config);
  check_total(config, where);
  return config;
}

ModelConfig ModelConfig::load(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw UserError("{}: is not a model folder", folder.string());
  }
  const std::filesystem::path file = folder / "config.json";
  return from_json(read_json(file), file.string());
}

Json ModelConfig::to_json() const {
  const auto arch = std::ranges::find_if(
      architectures(), [this](const Architecture& known) { return architecture == known.name; });
  PREDGEN_CHECK(arch != architectures().end(), "unknown architecture {}", architecture);
  const Activation activation = layers.front().feed_forward.activation;
  Json json{{"architectures", Json::array({architecture})},
            {"attention_dropout", 0.0},
            {"head_dim", head_dim},
            {"hidden_act", activation == Activation::kSilu ? "silu" : kGeluTanh},
            {"hidden_size", hidden_size},
            {"initializer_range", initializer_range},
            {"intermediate_size", intermediate_size},
            {"max_position_embeddings", max_positions},
            {"model_type", arch->model_type},
            {"num_attention_heads", num_heads},
            {"num_hidden_layers", num_layers()},
            {"num_key_value_heads", num_kv_heads},
            {"rms_norm_eps", rms_norm_eps},
            {"tie_word_embeddings", tie_word_embeddings},
            {"torch_dtype", dtype},
            {"use_cache", true},
            {"vocab_size", vocab_size}};
  ropes.front().write(json);
  arch->write(*this, json);
  return json;
}

int64_t ModelConfig::num_row_layers() const {
  return std::ranges::count_if(layers, [](const LayerSpec& layer) {
    return !layer.recurrence && layer.attention.shares < 0;
  });
}

int64_t ModelConfig::num_states() const {
  return std::ranges::count_if(layers,
                               [](const LayerSpec& layer) { return layer.recurrence != nullptr; });
}

bool ModelConfig::has_side_inputs() const {
  return std::ranges::any_of(layers, [](const LayerSpec& layer) {
    return layer.layer_input || layer.attention.shares >= 0;
  });
}

int64_t ModelConfig::place(int64_t index) const {
  const bool is_recurrent = layer(index).recurrence != nullptr;
  if (layer(index).attention.shares == kOfAnotherModel) {
    return layer(index).attention.window > 0 ? 1 : 0;
  }
  if (const int64_t shared = layer(index).attention.shares; !is_recurrent && shared >= 0) {
    return place(shared);
  }
  return std::count_if(layers.begin(), layers.begin() + index, [&](const LayerSpec& before) {
    return before.recurrence ? is_recurrent : !is_recurrent && before.attention.shares < 0;
  });
}

int64_t ModelConfig::widest_window() const {
  int64_t widest = 0;
  for (const LayerSpec& layer : layers) widest = std::max(widest, layer.attention.window);
  return widest;
}

at::Tensor ModelConfig::inverse_frequencies() const {
  std::vector<at::Tensor> rows;
  int64_t widest = 0;
  for (const RopeConfig& rope : ropes) widest = std::max(widest, head_dim_of(rope));
  for (const RopeConfig& rope : ropes) {
    const at::Tensor own = rope.inverse_frequencies(head_dim_of(rope));
    rows.push_back(at::constant_pad_nd(own, {0, widest / 2 - own.size(0)}));
  }
  return at::stack(rows);
}

std::optional<ModelConfig> ModelConfig::mtp() const {
  const auto attention = std::ranges::find_if(
      layers, [](const LayerSpec& layer) { return layer.recurrence == nullptr; });
  if (num_mtp_layers != 1 || attention == layers.end()) return {};
  ModelConfig own = *this;
  own.layers = {*attention};
  own.final_norm = {"mtp.norm.weight", ""};
  own.num_mtp_layers = 0;
  own.reads_hidden = true;
  return own;
}

int64_t ModelConfig::num_parameters() const { return num_values(weight_layout(*this)); }

int64_t ModelConfig::num_active_parameters() const {
  double total = 0.0;
  for (const WeightSpec& weight : weight_layout(*this)) {
    total += weight.share * static_cast<double>(num_values({weight}));
  }
  return std::llround(total);
}

int64_t num_values(const std::vector<WeightSpec>& weights) {
  int64_t total = 0;
  for (const WeightSpec& weight : weights) {
    int64_t count = 1;
    for (const int64_t size : weight.shape) count *= size;
    total += count;
  }
  return total;
}

std::vector<WeightSpec> weight_layout(const ModelConfig& config) {
  const int64_t E = config.hidden_size;
  std::vector<WeightSpec> weights{
      {.name = kEmbeddingName, .shape = {config.vocab_size, E}, .gguf = "token_embd.weight"}};
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    DecoderLayer::add_weights(config, i, weights);
  }
  weights.push_back({.name = config.final_norm.hugging_face,
                     .shape = {E},
                     .gguf = config.final_norm.gguf,
                     .is_norm = true});
  LayerInputs::add_weights(config, weights);
  if (!config.tie_word_embeddings) {
    weights.push_back({.name = kHeadName, .shape = {config.vocab_size, E}, .gguf = kGgufHeadName});
  }
  if (config.assistant) Assistant::add_weights(config, weights);
  if (!config.reads_hidden) return weights;
  for (WeightSpec& weight : weights) {
    weight.name = mtp_name(weight.name);
    weight.folder = mtp_name(weight.folder);
    // GGUF has places for the model's own layers only.
    std::erase_if(weight.stacked,
                  [](const StackedPlace& place) { return mtp_name(place.name) == place.name; });
    for (StackedPlace& place : weight.stacked) place.name = mtp_name(place.name);
  }
  MtpInput::add_weights(config, weights);
  return weights;
}

std::vector<WeightSpec> mtp_weights(const ModelConfig& config) {
  const std::optional<ModelConfig> mtp = config.mtp();
  if (!mtp) return {};
  std::vector<WeightSpec> weights = weight_layout(*mtp);
  std::erase_if(weights, [](const WeightSpec& weight) {
    return weight.name == kEmbeddingName || weight.name == kHeadName;
  });
  return weights;
}

std::string mtp_name(std::string name) {
  constexpr std::string_view kLayers = "model.layers.";
  return name.starts_with(kLayers) ? "mtp.layers." + name.substr(kLayers.size()) : name;
}

}  // namespace predgen
