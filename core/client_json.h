#pragma once

#include "core/json.h"

namespace predgen {

/// parse_json for what a client sent. UserError, too, for more than 1,000 keys in an object, or
/// 100,000 in all: a key is looked up by comparing it with all others of its object.
Json parse_client_json(std::string_view text, const std::string& where);

}  // namespace predgen
