#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/files.h"

namespace predgen {

/// Outputs of Zonos' reference implementation on small random weights; empty without
/// PREDGEN_SHARED.
inline std::filesystem::path zonos_golden_folder() {
  const char* shared = std::getenv("PREDGEN_SHARED");
  return shared ? std::filesystem::path(shared) / "zonos_reference" / "golden"
                : std::filesystem::path();
}

/// Its codec as a model folder.
inline void copy_golden_dac(const std::filesystem::path& folder) {
  write_file(folder / "config.json", read_file(zonos_golden_folder() / "dac_config.json"));
  write_file(folder / "model.safetensors", read_file(zonos_golden_folder() / "dac.safetensors"));
}

}  // namespace predgen
