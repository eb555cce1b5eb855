#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "runtime/generate/generation_defaults.h"

namespace predgen {

struct SamplingFlags : AskedSampling {
  /// `top_k_name`: --top-k, where the command has no other flag of that name.
  void add_to(CLI::App& command, const char* top_k_name);
  /// Nothing: greedy, unless a flag asks for sampling; then `folder`'s generation_config.json fills
  /// in the others. UserError for a value out of range, or a field of that file that is not
  /// honoured.
  std::optional<SamplingConfig> parse(const std::filesystem::path& folder) const;
};

}  // namespace predgen
