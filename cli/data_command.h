#pragma once

#include <CLI/CLI.hpp>
#include <stop_token>

#include "core/json.h"

namespace predgen::cli {

// Subcommands of `predgen data`.
void add_data_build(CLI::App& data, const std::stop_token& stop);
void add_data_show(CLI::App& data);
void add_data_trajectories(CLI::App& data, const std::stop_token& stop);

/// Prints what was written to `output`: its manifest in brief, as JSON or as lines.
void print_dataset(const std::filesystem::path& output, const Json& manifest, bool as_json);

/// "name  value" lines of the counters in a manifest, nested ones indented.
void print_counters(const Json& counters, int indent);

}  // namespace predgen::cli
