#pragma once

#include <filesystem>
#include <stop_token>

#include "core/json.h"
#include "data/build_config.h"
#include "text/tokenizer.h"

namespace predgen::data {

struct BuildResult {
  Json manifest;  // of the dataset, with the counters
  bool already_complete = false;
};

/// `predgen data build`: reads the sources twice if a fraction is held out, makes the records on
/// config.threads threads in row order, writes them to config.output and the held-out ones to
/// config.output/held_out. Continues a build that was killed; does nothing if the same dataset
/// exists. Draws a progress bar; after a stop request it throws Interrupted between batches.
BuildResult build_dataset(const BuildConfig& config, const Tokenizer& tokenizer,
                          const std::stop_token& stop);

}  // namespace predgen::data
