#pragma once

#include <stop_token>
#include <string>

#include "core/config.h"
#include "core/json.h"
#include "evaluate/eval_config.h"

namespace predgen::evaluate {

struct RunOptions {
  std::string version;   // of the program: a different one starts over
  bool restart = false;  // drops what an unfinished run has left
};

/// Runs every model at every cost on all turns, writes the report into the configuration's output
/// and returns it. Finished turns are kept in a journal there until then, and a run of the same
/// configuration, turns, weights and version resumes after them. `reader` has read `config`.
/// UserError for what cannot be run. Interrupted after a stop. Runs on LibTorch's threads: the
/// caller sets the configured number.
Json run_evaluation(const EvalConfig& config, const ConfigReader& reader, const RunOptions& options,
                    const std::stop_token& stop);

}  // namespace predgen::evaluate
