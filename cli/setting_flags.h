#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/setting.h"

namespace predgen::cli {

/// Offers settings as flags, with their help and defaults; what is given is written where the
/// settings are. `group`: of --help; empty: the usual one.
void add_flags(CLI::App& command, const Settings& settings, const std::string& group = "");

/// Values that `command` was given by `flags` replace those of `settings`, the same ones of another
/// struct, in the same order; lists grow by them.
void take_given(const CLI::App& command, const Settings& flags, const Settings& settings);

}  // namespace predgen::cli
