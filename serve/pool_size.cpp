#include "serve/pool_size.h"

#include <algorithm>

#include "core/error.h"

namespace predgen::serve {

int64_t pool_positions(const ServeConfig& config, int64_t max_positions, const KvLayout& layout,
                       int64_t free) {
  const int64_t context = std::min(config.max_context, max_positions);
  if (config.pool_positions == 0) {
    const int64_t room = layout.options.device().is_cpu() ? free / 2 : free / 5 * 4;
    return std::max(context, room / layout.bytes_per_position());
  }
  if (config.pool_positions < context) {
    throw UserError(
        "pool_positions {}: a conversation of {} tokens does not fit: give at least that many, or "
        "lower max_context",
        config.pool_positions, context);
  }
  return config.pool_positions;
}

}  // namespace predgen::serve
