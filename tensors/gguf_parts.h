#pragma once

#include <filesystem>
#include <vector>

#include "tensors/gguf_metadata.h"

namespace predgen {

/// The paths of all parts of the model whose first part this is; for an unsplit file, its own path.
/// UserError if it is a later part, or if another part is missing.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& first,
                                              const GgufMetadata& metadata);

}  // namespace predgen
