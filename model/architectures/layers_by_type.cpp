#include "model/architectures/layers_by_type.h"

#include "core/error.h"

namespace predgen {

void read_layer_types(const ConfigFields& fields, int64_t pattern, int64_t usual_window,
                      ModelConfig& config) {
  const size_t num_layers = config.layers.size();
  const bool has_types = fields.has("layer_types");
  const Json types = has_types ? fields.at("layer_types") : Json::array();
  if (has_types && (!types.is_array() || types.size() != num_layers)) {
    fields.fail("layer_types", "must have one entry for each layer");
  }
  for (size_t i = 0; i < num_layers; ++i) {
    const bool slides =
        has_types ? types[i] == kSlidingType : (i + 1) % static_cast<size_t>(pattern) != 0;
    if (has_types && !slides && types[i] != kFullType) {
      fields.fail("layer_types", fmt::format("must be {} or {}, not {}", kSlidingType, kFullType,
                                             types[i].dump()));
    }
    if (!slides) continue;
    if (fields.is_null("sliding_window")) {
      fields.fail("sliding_window", "is null, but there are sliding layers");
    }
    config.layers[i].attention.window = fields.size("sliding_window", usual_window);
  }
}

void use_rope_by_type(ModelConfig& config) {
  for (LayerSpec& layer : config.layers) layer.attention.rope = layer.attention.window > 0 ? 1 : 0;
}

void write_layer_types(const ModelConfig& config, Json& json) {
  json["layer_types"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    const int64_t window = layer.attention.window;
    if (window > 0) json["sliding_window"] = window;
    json["layer_types"].push_back(window > 0 ? kSlidingType : kFullType);
  }
}

Json rope_fields(const ConfigFields& fields, const char* type) {
  Json rope = Json::object();
  const auto take = [&](const Json& from, const char* key) {
    if (!from.is_object()) fields.fail(key, "must be an object");
    rope.update(from);
  };
  if (fields.has("rope_parameters")) {
    const Json& types = fields.at("rope_parameters");
    if (!types.is_object()) fields.fail("rope_parameters", "must be an object");
    const ConfigFields by_type(types, fields.where() + ": \"rope_parameters\"");
    for (const auto& [name, value] : types.items()) {
      if (name != kSlidingType && name != kFullType) by_type.absent(name.c_str());
    }
    if (by_type.has(type)) take(by_type.at(type), type);
  }
  if (type == kFullType && fields.has("rope_scaling")) {
    take(fields.at("rope_scaling"), "rope_scaling");
  }
  return rope;
}

RopeConfig read_rope_of(const ConfigFields& fields, const ModelConfig& config, const char* type,
                        const Json& rope) {
  Json own{{"rope_parameters", rope}};
  if (fields.has("original_max_position_embeddings")) {
    own["original_max_position_embeddings"] = fields.at("original_max_position_embeddings");
  }
  return RopeConfig::read(ConfigFields(own, fmt::format("{}: {}", fields.where(), type)),
                          config.max_positions);
}

void write_ropes_by_type(const ModelConfig& config, Json& json) {
  Json ropes = Json::object();
  for (const auto& [type, rope] :
       {std::pair{kFullType, &config.ropes.front()}, {kSlidingType, &config.ropes.back()}}) {
    Json own;
    rope->write(own);
    Json fields = own.value("rope_scaling", Json{{"rope_type", "default"}});
    fields["rope_theta"] = own.at("rope_theta");
    ropes[type] = fields;
  }
  json.erase("rope_theta");
  json.erase("rope_scaling");
  json["rope_parameters"] = ropes;
}

}  // namespace predgen
