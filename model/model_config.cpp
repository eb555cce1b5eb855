#include "model/model_config.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace predgen {
namespace {

struct Family {
  const char* architecture;
  const char* model_type;
  bool qkv_bias;
};

/// Every supported architecture.
constexpr std::array kFamilies{Family{"Qwen2ForCausalLM", "qwen2", true}};

const Family& find_family(const Json& json, const std::string& where) {
  std::string found;
  if (json.contains("architectures") && json["architectures"].is_array() &&
      !json["architectures"].empty()) {
    found = json["architectures"][0].is_string() ? json["architectures"][0].get<std::string>() : "";
    for (const Family& family : kFamilies) {
      if (found == family.architecture) return family;
    }
  } else {
    found = json_get<std::string>(json, "model_type", where);
    for (const Family& family : kFamilies) {
      if (found == family.model_type) return family;
    }
  }
  std::string known;
  for (const Family& family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  throw UserError("{}: \"architectures\": \"{}\" is unknown; known: {}", where, found, known);
}

/// Reads fields; null counts as absent, as in transformers.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  int64_t size(const char* key) const {
    if (!has(key)) fail_json_key(key, where_, "is missing");
    const Json& value = json_.at(key);
    constexpr int64_t kLargest = int64_t{1} << 30;  // the product of two fits into 64 bits
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kLargest) {
      fail_json_key(key, where_, "must be a positive integer, not " + value.dump());
    }
    return value.get<int64_t>();
  }
  int64_t size(const char* key, int64_t fallback) const { return has(key) ? size(key) : fallback; }

  double positive(const char* key, double fallback) const {
    if (!has(key)) return fallback;
    const Json& value = json_.at(key);
    if (!value.is_number() || !(value.get<double>() > 0)) {
      fail_json_key(key, where_, "must be a positive number, not " + value.dump());
    }
    return value.get<double>();
  }

  bool flag(const char* key, bool fallback) const {
    return has(key) ? json_get<bool>(json_, key, where_) : fallback;
  }

  /// Refuses any value of `key` other than `honoured`.
  void only(const char* key, const Json& honoured) const {
    if (has(key) && json_.at(key) != honoured) {
      throw UserError("{}: \"{}\": {} is not supported, only {}", where_, key, json_.at(key).dump(),
                      honoured.dump());
    }
  }

  void absent(const char* key) const {
    if (has(key)) throw UserError("{}: \"{}\" is not supported", where_, key);
  }

  const Json& at(const char* key) const { return json_.at(key); }
  const std::string& where() const { return where_; }

 private:
  const Json& json_;
  std::string where_;
};

/// transformers 4 writes rope_theta and rope_scaling, 5 writes rope_parameters; where several give
/// a value, the choice is that of transformers 5.
double read_rope_theta(const Fields& fields) {
  const double outer = fields.positive("rope_theta", 10000.0);
  const char* key = fields.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!fields.has(key)) return outer;
  if (!fields.at(key).is_object()) fail_json_key(key, fields.where(), "must be an object");
  const Fields rope(fields.at(key), fields.where() + ": \"" + key + "\"");
  rope.only("rope_type", "default");
  rope.only("type", "default");
  rope.only("partial_rotary_factor", 1.0);
  for (const auto& [name, value] : fields.at(key).items()) {
    if (value.is_object()) rope.absent(name.c_str());  // a setting for each layer type
  }
  return rope.positive("rope_theta", outer);
}

std::string read_dtype(const Fields& fields) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key)) return "float32";
  const std::string name = fields.at(key).is_string() ? fields.at(key).get<std::string>() : "";
  if (name != "float32" && name != "bfloat16" && name != "float16") {
    fail_json_key(key, fields.where(),
                  "must be float32, bfloat16 or float16, not " + fields.at(key).dump());
  }
  return name;
}

void refuse_what_is_not_honoured(const Fields& fields, int64_t num_layers) {
  fields.only("hidden_act", "silu");
  fields.only("use_sliding_window", false);
  fields.only("partial_rotary_factor", 1.0);
  fields.absent("quantization_config");
  fields.absent("compression_config");
  if (!fields.has("layer_types")) return;
  const Json& types = fields.at("layer_types");
  if (!types.is_array() || static_cast<int64_t>(types.size()) != num_layers) {
    fail_json_key("layer_types", fields.where(), "must have one entry for each layer");
  }
  for (const Json& type : types) {
    if (type != "full_attention") {
      throw UserError("{}: \"layer_types\": {} is not supported, only \"full_attention\"",
                      fields.where(), type.dump());
    }
  }
}

}  // namespace

ModelConfig ModelConfig::from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) throw UserError("{}: must be a JSON object", where);
  const Family& family = find_family(json, where);
  const Fields fields(json, where);
  fields.only("model_type", family.model_type);
  ModelConfig config;
  config.architecture = family.architecture;
  config.qkv_bias = family.qkv_bias;
  config.vocab_size = fields.size("vocab_size");
  config.hidden_size = fields.size("hidden_size");
  config.intermediate_size = fields.size("intermediate_size");
  config.num_layers = fields.size("num_hidden_layers");
  config.num_heads = fields.size("num_attention_heads");
  config.num_kv_heads = json.contains("num_key_value_heads")
                            ? fields.size("num_key_value_heads", config.num_heads)
                            : fields.size("num_key_value_heads");
  if (config.num_heads % config.num_kv_heads != 0) {
    throw UserError(
        "{}: \"num_attention_heads\" ({}) must be a multiple of "
        "\"num_key_value_heads\" ({})",
        where, config.num_heads, config.num_kv_heads);
  }
  if (!fields.has("head_dim") && config.hidden_size % config.num_heads != 0) {
    throw UserError("{}: \"hidden_size\" ({}) must be a multiple of \"num_attention_heads\" ({})",
                    where, config.hidden_size, config.num_heads);
  }
  config.head_dim = fields.size("head_dim", config.hidden_size / config.num_heads);
  if (config.head_dim % 2 != 0) {
    throw UserError("{}: \"head_dim\" ({}) must be even for rotary positions", where,
                    config.head_dim);
  }
  config.max_positions = fields.size("max_position_embeddings", 32768);
  config.rope_theta = read_rope_theta(fields);
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-6);
  config.initializer_range = fields.positive("initializer_range", 0.02);
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", false);
  config.dtype = read_dtype(fields);
  refuse_what_is_not_honoured(fields, config.num_layers);
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
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [this](const Family& known) {
    return architecture == known.architecture;
  });
  PREDGEN_CHECK(family != kFamilies.end(), "unknown architecture {}", architecture);
  return {{"architectures", Json::array({architecture})},
          {"attention_dropout", 0.0},
          {"head_dim", head_dim},
          {"hidden_act", "silu"},
          {"hidden_size", hidden_size},
          {"initializer_range", initializer_range},
          {"intermediate_size", intermediate_size},
          {"max_position_embeddings", max_positions},
          {"model_type", family->model_type},
          {"num_attention_heads", num_heads},
          {"num_hidden_layers", num_layers},
          {"num_key_value_heads", num_kv_heads},
          {"rms_norm_eps", rms_norm_eps},
          {"rope_theta", rope_theta},
          {"tie_word_embeddings", tie_word_embeddings},
          {"torch_dtype", dtype},
          {"use_cache", true},
          {"use_sliding_window", false},
          {"vocab_size", vocab_size}};
}

int64_t ModelConfig::num_parameters() const {
  const int64_t query = num_heads * head_dim;
  const int64_t key_value = num_kv_heads * head_dim;
  const int64_t attention =
      hidden_size * (2 * query + 2 * key_value) + (qkv_bias ? query + 2 * key_value : 0);
  const int64_t mlp = 3 * hidden_size * intermediate_size;
  const int64_t embeddings = vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
  return embeddings + num_layers * (attention + mlp + 2 * hidden_size) + hidden_size;
}

}  // namespace predgen
