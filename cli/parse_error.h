#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace predgen::cli {

/// What is wrong with a command line that `app` rejected, in one line that says what to change. An
/// unknown flag or command comes first: it may be a misspelling of what `error` finds missing.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace predgen::cli
