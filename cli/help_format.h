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

}  // namespace predgen::cli
