#pragma once

#include "core/json.h"
#include "runtime/converse/turn.h"

namespace predgen {

/// The fields of TurnMetrics under their names.
Json metrics_json(const TurnMetrics& metrics);

}  // namespace predgen
