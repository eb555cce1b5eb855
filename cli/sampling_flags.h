#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "runtime/generate/generation_defaults.h"

namespace predgen::cli {

struct SamplingFlags : AskedSampling {
  /// `top_k_name`: --top-k, where the command has no other flag of that name.
  void add_to(CLI::App& command, const char* top_k_name);
  /// As choose_sampling() has it, with `folder`'s generation_config.json. UserError for a value out
  /// of range, or, when sampling, a field of that file that is not honoured.
  std::optional<SamplingConfig> parse(const std::filesystem::path& folder) const;
};

}  // namespace predgen::cli
