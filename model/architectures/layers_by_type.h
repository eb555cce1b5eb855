#pragma once

#include "model/config_fields.h"
#include "model/model_config.h"

namespace predgen {

// Of architectures whose layers are of two types, those with a window and those without, each with
// rotary positions of its own: ModelConfig::ropes has those of the full layers first.

inline constexpr const char *kSlidingType = "sliding_attention", *kFullType = "full_attention";

/// Windows from "layer_types"; else every `pattern`-th layer is full.
void read_layer_types(const ConfigFields& fields, int64_t pattern, int64_t usual_window,
                      ModelConfig& config);
/// Gives the layers with windows the second of the ropes.
void use_rope_by_type(ModelConfig& config);
void write_layer_types(const ModelConfig& config, Json& json);

/// What a config.json has for the layers of one type: an object of "rope_parameters" (transformers
/// 5), to which "rope_scaling" (transformers 4) adds for the full ones. UserError for other types.
Json rope_fields(const ConfigFields& fields, const char* type);
/// Reads such an object, which must have the base.
RopeConfig read_rope_of(const ConfigFields& fields, const ModelConfig& config, const char* type,
                        const Json& rope);
/// "rope_parameters" by type, as transformers 5 has them, in place of transformers 4's keys.
void write_ropes_by_type(const ModelConfig& config, Json& json);

}  // namespace predgen
