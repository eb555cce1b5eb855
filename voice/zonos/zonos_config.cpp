#include "voice/zonos/zonos_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/edit_distance.h"
#include "core/error.h"
#include "model/config_fields.h"

namespace predgen {
namespace {

constexpr int64_t kSpeakerWidth = 128;
constexpr int64_t kEmotions = 8;
constexpr const char* kTransformerOnly =
    "only the transformer model can be used: take Zyphra/Zonos-v0.1-transformer";

/// Returns an object of the file; rejects every key in it that is not read here.
Json object_at(const ConfigFields& fields, const char* key) {
  if (!fields.has(key)) return Json::object();
  if (!fields.at(key).is_object()) fields.fail(key, "must be an object");
  return fields.at(key);
}

void allow_only(const ConfigFields& fields, const std::vector<std::string>& known) {
  if (!fields.json().is_object()) throw UserError("{}: must be an object", fields.where());
  for (auto item = fields.json().begin(); item != fields.json().end(); ++item) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      throw UserError("{}: \"{}\" is not supported; {}", fields.where(), item.key(),
                      suggest(item.key(), known));
    }
  }
}

double number(const ConfigFields& fields, const char* key, double fallback) {
  if (!fields.has(key)) return fallback;
  if (!fields.at(key).is_number()) fields.fail(key, "must be a number");
  return fields.at(key).get<double>();
}

ZonosProjection read_projection(const ConfigFields& fields) {
  const std::string word = fields.word("projection", "none");
  if (word == "none") return ZonosProjection::kNone;
  if (word == "linear") return ZonosProjection::kLinear;
  if (word == "mlp") return ZonosProjection::kMlp;
  fields.fail("projection", fmt::format("is \"{}\", not none, linear or mlp", word));
}

void read_attention(const ConfigFields& backbone, ZonosConfig& config) {
  const Json json = object_at(backbone, "attn_cfg");
  const ConfigFields fields(json, fmt::format("{}.attn_cfg", backbone.where()));
  allow_only(fields, {"causal", "num_heads", "num_heads_kv", "rotary_emb_dim",
                      "rotary_emb_interleaved", "qkv_proj_bias", "out_proj_bias"});
  fields.only("causal", true);
  fields.only("rotary_emb_interleaved", true);
  fields.only("qkv_proj_bias", false);
  fields.only("out_proj_bias", false);
  config.num_heads = fields.size("num_heads");
  config.num_kv_heads = fields.size("num_heads_kv", config.num_heads);
  if (config.width % config.num_heads != 0 || config.head_width() % 2 != 0) {
    fields.fail("num_heads", fmt::format("is {}, which does not divide d_model = {} into heads of "
                                         "even width",
                                         config.num_heads, config.width));
  }
  if (config.num_heads % config.num_kv_heads != 0) {
    fields.fail("num_heads_kv", fmt::format("is {}, which does not divide num_heads = {}",
                                            config.num_kv_heads, config.num_heads));
  }
  fields.only("rotary_emb_dim", config.head_width());
}

/// Mamba layers are those missing from attn_layer_idx.
void refuse_hybrid(const ConfigFields& fields, int64_t num_layers) {
  if (!object_at(fields, "ssm_cfg").empty()) {
    throw UserError("{}: \"ssm_cfg\" is not empty: this is a hybrid (Mamba) checkpoint; {}",
                    fields.where(), kTransformerOnly);
  }
  if (!fields.has("attn_layer_idx")) return;
  const Json& listed = fields.at("attn_layer_idx");
  std::set<int64_t> attention;
  if (!listed.is_array()) fields.fail("attn_layer_idx", "must be a list");
  for (const Json& index : listed) {
    if (!index.is_number_integer()) fields.fail("attn_layer_idx", "must hold integers");
    attention.insert(index.get<int64_t>());
  }
  for (int64_t i = 0; i < num_layers; ++i) {
    if (!attention.contains(i)) {
      throw UserError(
          "{}: \"attn_layer_idx\" lacks layer {}: this is a hybrid (Mamba) checkpoint; "
          "{}",
          fields.where(), i, kTransformerOnly);
    }
  }
  if (!attention.empty() && (*attention.begin() < 0 || *attention.rbegin() >= num_layers)) {
    fields.fail("attn_layer_idx", fmt::format("names a layer outside of 0..{}", num_layers - 1));
  }
}

void read_backbone(const Json& root, const std::string& where, ZonosConfig& config) {
  const Json json = object_at(ConfigFields(root, where), "backbone");
  const ConfigFields fields(json, fmt::format("{}: backbone", where));
  allow_only(fields,
             {"d_model", "d_intermediate", "attn_mlp_d_intermediate", "n_layer", "ssm_cfg",
              "attn_layer_idx", "attn_cfg", "rms_norm", "residual_in_fp32", "norm_epsilon"});
  config.num_layers = fields.size("n_layer", 16);
  refuse_hybrid(fields, config.num_layers);
  // d_intermediate is the MLP size of Mamba layers: without them it means nothing.
  config.width = fields.size("d_model", 1024);
  config.mlp_width = fields.size("attn_mlp_d_intermediate");
  config.norm_epsilon = fields.positive("norm_epsilon", 1e-5);
  fields.only("rms_norm", false);
  fields.only("residual_in_fp32", false);
  read_attention(fields, config);
}

void check_value(const ConfigFields& fields, const ZonosConditioner& part) {
  using Kind = ZonosConditioner::Kind;
  struct Known {
    Kind kind;
    int64_t width;
  };
  static const std::map<std::string, Known> known{
      {"espeak", {Kind::kPhonemes, 1}},         {"speaker", {Kind::kPassthrough, kSpeakerWidth}},
      {"emotion", {Kind::kFourier, kEmotions}}, {"fmax", {Kind::kFourier, 1}},
      {"pitch_std", {Kind::kFourier, 1}},       {"speaking_rate", {Kind::kFourier, 1}},
      {"language_id", {Kind::kInteger, 1}}};
  const auto found = known.find(part.name);
  if (found == known.end()) {
    fields.fail("name", fmt::format("is \"{}\": this conditioner is not supported; {}", part.name,
                                    kTransformerOnly));
  }
  if (found->second.kind != part.kind) {
    fields.fail("type", fmt::format("is not that of \"{}\"", part.name));
  }
  if (found->second.width != part.input_width) {
    fields.fail(part.kind == Kind::kPassthrough ? "cond_dim" : "input_dim",
                fmt::format("is {}, but \"{}\" has {} numbers", part.input_width, part.name,
                            found->second.width));
  }
}

ZonosConditioner read_conditioner(const Json& json, const std::string& where, int64_t width) {
  using Kind = ZonosConditioner::Kind;
  static const std::map<std::string, Kind> kinds{{"EspeakPhonemeConditioner", Kind::kPhonemes},
                                                 {"PassthroughConditioner", Kind::kPassthrough},
                                                 {"FourierConditioner", Kind::kFourier},
                                                 {"IntegerConditioner", Kind::kInteger}};
  const ConfigFields fields(json, where);
  const std::string type = json_get<std::string>(json, "type", where);
  const auto kind = kinds.find(type);
  if (kind == kinds.end()) fields.fail("type", fmt::format("is \"{}\": not supported", type));
  ZonosConditioner part;
  part.kind = kind->second;
  part.name = json_get<std::string>(json, "name", where);
  std::vector<std::string> keys{"type", "name", "cond_dim", "projection", "uncond_type"};
  if (part.kind == Kind::kFourier) {
    keys.insert(keys.end(), {"input_dim", "std", "min_val", "max_val"});  // std: initial weights
    part.input_width = fields.size("input_dim", 1);
    if (width % 2 != 0) fields.fail("type", fmt::format("needs an even d_model, not {}", width));
  } else if (part.kind == Kind::kInteger) {
    keys.insert(keys.end(), {"min_val", "max_val"});
    part.max = 512;
  }
  allow_only(fields, keys);
  part.min = number(fields, "min_val", part.min);
  part.max = number(fields, "max_val", part.max);
  if (!(part.min < part.max)) {
    fields.fail("max_val", fmt::format("is {}, not above min_val = {}", part.max, part.min));
  }
  if (part.kind == Kind::kInteger &&
      (part.min != std::round(part.min) || part.max != std::round(part.max) || part.max > 1e6)) {
    fields.fail("max_val", "and min_val must be integers, and not above a million");
  }
  part.projection = read_projection(fields);
  const int64_t inner = fields.size("cond_dim", width);
  if (part.kind == Kind::kPassthrough) {
    part.input_width = inner;
    if (part.projection == ZonosProjection::kNone && inner != width) {
      fields.fail("cond_dim", fmt::format("is {}, and without a projection must be d_model = {}",
                                          inner, width));
    }
  } else if (inner != width) {
    fields.fail("cond_dim",
                fmt::format("is {}, but a {} makes d_model = {} numbers", inner, type, width));
  }
  const std::string unconditional = fields.word("uncond_type", "none");
  if (unconditional != "none" && unconditional != "learned") {
    fields.fail("uncond_type", fmt::format("is \"{}\", not none or learned", unconditional));
  }
  part.has_unconditional = unconditional == "learned";
  check_value(fields, part);
  return part;
}

void read_prefix(const Json& root, const std::string& where, ZonosConfig& config) {
  const ConfigFields root_fields(root, where);
  if (!root_fields.has("prefix_conditioner")) {
    root_fields.fail("prefix_conditioner", "is missing");
  }
  const Json json = object_at(root_fields, "prefix_conditioner");
  const ConfigFields fields(json, fmt::format("{}: prefix_conditioner", where));
  allow_only(fields, {"conditioners", "projection"});
  if (!fields.has("projection")) fields.fail("projection", "is missing");
  config.prefix_projection = read_projection(fields);
  if (!fields.has("conditioners") || !fields.at("conditioners").is_array()) {
    fields.fail("conditioners", "must be a list");
  }
  std::set<std::string> names;
  for (const Json& item : fields.at("conditioners")) {
    const std::string item_where = fmt::format("{}.conditioners[{}]", fields.where(), names.size());
    config.conditioners.push_back(read_conditioner(item, item_where, config.width));
    if (!names.insert(config.conditioners.back().name).second) {
      fields.fail("conditioners",
                  fmt::format("holds \"{}\" twice", config.conditioners.back().name));
    }
  }
  if (!names.contains("espeak")) fields.fail("conditioners", "lacks \"espeak\": the text");
}

void add_projection(std::vector<WeightSpec>& layout, ZonosProjection kind, const std::string& name,
                    int64_t in, int64_t out) {
  const auto add = [&](const std::string& layer, int64_t from) {
    layout.push_back({layer + ".weight", {out, from}});
    layout.push_back({layer + ".bias", {out}});
  };
  if (kind == ZonosProjection::kLinear) add(name, in);
  if (kind == ZonosProjection::kMlp) {
    add(name + ".0", in);
    add(name + ".2", out);
  }
}

}  // namespace

ZonosConfig ZonosConfig::load(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "config.json";
  return read(read_json(file), file.string());
}

ZonosConfig ZonosConfig::read(const Json& json, const std::string& where) {
  const ConfigFields fields(json, where);
  if (json.is_object() && !fields.has("backbone")) {  // before extra keys of another model's file
    fields.fail("backbone", "is missing: this is not a Zonos voice");
  }
  allow_only(fields, {"backbone", "prefix_conditioner", "eos_token_id", "masked_token_id",
                      "pad_vocab_to_multiple_of"});
  fields.only("eos_token_id", kZonosEos);
  fields.only("masked_token_id", kZonosMask);
  // Padding adds rows to the heads which are never sampled: any multiple gives the same codes.
  if (fields.has("pad_vocab_to_multiple_of")) fields.size("pad_vocab_to_multiple_of");
  ZonosConfig config;
  read_backbone(json, where, config);
  read_prefix(json, where, config);
  return config;
}

std::vector<WeightSpec> ZonosConfig::weight_layout() const {
  std::vector<WeightSpec> layout;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    layout.push_back({name, std::move(shape)});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  };
  for (int64_t i = 0; i < num_layers; ++i) {
    const std::string layer = fmt::format("backbone.layers.{}.", i);
    add_norm(layer + "norm");
    add(layer + "mixer.in_proj.weight", {(num_heads + 2 * num_kv_heads) * head_width(), width});
    add(layer + "mixer.out_proj.weight", {width, width});
    add_norm(layer + "norm2");
    add(layer + "mlp.fc1.weight", {2 * mlp_width, width});
    add(layer + "mlp.fc2.weight", {width, mlp_width});
  }
  add_norm("backbone.norm_f");
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    add(fmt::format("embeddings.{}.weight", k), {kZonosEmbeddings, width});
    add(fmt::format("heads.{}.weight", k), {kZonosLogits, width});
  }
  add_projection(layout, prefix_projection, "prefix_conditioner.project", width, width);
  add_norm("prefix_conditioner.norm");
  for (size_t i = 0; i < conditioners.size(); ++i) {
    using Kind = ZonosConditioner::Kind;
    const ZonosConditioner& part = conditioners[i];
    const std::string name = fmt::format("prefix_conditioner.conditioners.{}.", i);
    if (part.kind == Kind::kPhonemes) {
      add(name + "phoneme_embedder.weight", {kZonosPhonemes, width});
    } else if (part.kind == Kind::kFourier) {
      add(name + "weight", {width / 2, part.input_width});
    } else if (part.kind == Kind::kInteger) {
      const int64_t count = static_cast<int64_t>(part.max) - static_cast<int64_t>(part.min) + 1;
      add(name + "int_embedder.weight", {count, width});
    }
    if (part.has_unconditional) add(name + "uncond_vector", {width});
    const int64_t in = part.kind == Kind::kPassthrough ? part.input_width : width;
    add_projection(layout, part.projection, name + "project", in, width);
  }
  return layout;
}

}  // namespace predgen
