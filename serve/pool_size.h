#pragma once

#include <cstdint>

#include "model/sequence_state.h"
#include "serve/serve_config.h"

namespace predgen::serve {

/// Positions of the engine's pool: config.pool_positions, or if that is 0 as many as fit into
/// `free` bytes, less a part for passes (a fifth) and, on a CPU, for swapped-out caches (half), but
/// at least one conversation. UserError if a conversation of max_context tokens, of which a model
/// may have fewer, does not fit into config.pool_positions.
int64_t pool_positions(const ServeConfig& config, int64_t max_positions, const KvLayout& layout,
                       int64_t free);

}  // namespace predgen::serve
