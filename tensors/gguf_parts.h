#pragma once

#include <filesystem>
#include <vector>

#include "tensors/gguf_metadata.h"

namespace predgen {

/// The paths of all parts of the model whose first part this is; of a file that is no part, its
/// own. UserError if it is another part, or one of the others is missing.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& first,
                                              const GgufMetadata& metadata);

}  // namespace predgen
