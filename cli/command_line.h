#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace predgen::cli {

/// Lays out --help: explanations of options are broken at spaces, to fit a terminal.
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  int width_;  // of an explanation, columns
};

/// What is wrong with a command line that `app` rejected, in one line that says what to change. An
/// unknown flag or command comes first: it may be a misspelling of what `error` finds missing.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

/// What `predgen` alone prints to stdout: what to do next, and what is installed. It opens no
/// model.
void print_welcome();

}  // namespace predgen::cli
