#pragma once

#include <CLI/CLI.hpp>

namespace predgen::cli {

/// "models rm": removes models from the folder of models, and nothing elsewhere.
void add_models_rm(CLI::App& models);

}  // namespace predgen::cli
