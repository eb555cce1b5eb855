#pragma once

#include <cstdint>

#include "core/error.h"

namespace predgen {

/// UserError with the setting's name and both numbers if `value` is below `minimum`.
inline void check_at_least(int64_t minimum, int64_t value, const char* name) {
  if (value < minimum) throw UserError("{} is {}, but must be at least {}", name, value, minimum);
}

}  // namespace predgen
