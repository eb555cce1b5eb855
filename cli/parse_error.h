#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace predgen::cli {

/// What is wrong with a command line that `app` has refused, in one line that says what to change.
/// A flag or a command that there is not comes first: what `error` misses may be what it was to be.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace predgen::cli
