#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "runtime/engine/engine.h"
#include "serve/prefix_store.h"
#include "serve/serve_config.h"

namespace predgen::cli {

/// The folder of --prefix-cache; null: none is wanted. Runs a pass, which tells this machine's
/// results from others'. UserError as PrefixStore.
std::unique_ptr<serve::PrefixStore> open_prefix_store(const serve::ServeConfig& config,
                                                      const ModelOptions& model,
                                                      const Checkpoint& checkpoint, Engine& engine,
                                                      EngineLock& engine_lock);

}  // namespace predgen::cli
