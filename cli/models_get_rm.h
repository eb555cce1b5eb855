#pragma once

#include <CLI/CLI.hpp>

namespace predgen::cli {

/// "models get": becomes the script that fetches models (fetch_script.h).
CLI::App* add_models_get(CLI::App& models);

/// "models rm": removes models from the folder of models, and nothing elsewhere.
void add_models_rm(CLI::App& models);

}  // namespace predgen::cli
