#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

/// A call as Gemma 4 writes it, call:NAME{key:<|"|>text<|"|>,list:[1,true]}, as {"name",
/// "arguments"}. Texts have no escapes; JSON's own texts are taken, too. nullopt: it is no such
/// call.
std::optional<Json> parse_gemma_call(std::string_view text);

}  // namespace predgen
