#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "runtime/generate/generation_defaults.h"

namespace predgen::cli {

struct SamplingFlags : AskedSampling {
  /// `top_k_name`: --top-k, unless the command has another flag of that name.
  void add_to(CLI::App& command, const char* top_k_name);
  /// As choose_sampling() has it, with these defaults. UserError for a value out of range, or, when
  /// sampling, a field of the defaults that is not honoured.
  std::optional<SamplingConfig> parse(const GenerationSettings& settings) const;
};

}  // namespace predgen::cli
