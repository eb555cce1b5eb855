#pragma once

#include <optional>

#include "core/json.h"

namespace predgen::serve {

/// An event of today's Realtime API as the beta had it, with its names and the flat session;
/// nullopt: the beta had no such event.
std::optional<Json> to_beta(Json event);

}  // namespace predgen::serve
