#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/build_config.h"

namespace predgen::data {

/// What a build left out, from the counters of its manifest: a plain line for each cause, the one
/// that took most first, as `50 of 50 rows were dropped by filters.languages: they have no
/// "language"`. A row becomes `examples_per_conversation` examples, which some rules drop one by
/// one.
std::vector<std::string> drop_lines(const Json& counters, int64_t examples_per_conversation);

/// Says so if most of what `files` hold was left out. UserError, with the causes, if nothing is
/// left to train on, or nothing was held out that should be.
void report_drops(const Json& counters, const BuildConfig& config,
                  const std::vector<std::filesystem::path>& files);

/// The names of all that `counters["dropped"]` counts, in the order of the rules.
std::vector<std::string> drop_names();

}  // namespace predgen::data
