#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

/// The JSON of a call as a model writes it. Control characters in strings and commas behind the
/// last item, which have one meaning only, are mended; nullopt: it is no JSON all the same.
std::optional<Json> parse_call_json(std::string_view text);

}  // namespace predgen
