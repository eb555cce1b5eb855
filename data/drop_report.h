#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/build_config.h"

namespace predgen::data {

/// What a build dropped, from the counters of its manifest: a plain line per cause, the
/// largest first, such as `50 of 50 rows were dropped by filters.languages: they have no
/// "language"`. A row becomes `examples_per_conversation` examples, which some rules drop
/// individually.
std::vector<std::string> drop_lines(const Json& counters, int64_t examples_per_conversation);

/// Warns if most of the contents of `files` was dropped. UserError, with the causes, if nothing is
/// left to train on, or if nothing was held out although something should be.
void report_drops(const Json& counters, const BuildConfig& config,
                  const std::vector<std::filesystem::path>& files);

/// The names of all counters in `counters["dropped"]`, in the order of the rules.
std::vector<std::string> drop_names();

}  // namespace predgen::data
