#pragma once

#include <string>

#include "model/config_fields.h"

namespace predgen {

/// What "quantization_config" of a config.json says that matrices are stored in: "nf4" or "fp4" (of
/// bitsandbytes), or "mxfp4"; empty if there is none. UserError for any other.
std::string stored_type(const ConfigFields& fields);

}  // namespace predgen
