#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "model/load_options.h"
#include "model/transformer.h"

namespace predgen {

/// Loads a checkpoint, mapped files straight to the device and type. `adapter`: a PEFT folder, or
/// empty. UserError names missing, superfluous and misshapen tensors.
std::unique_ptr<Transformer> load_model(const Checkpoint& checkpoint,
                                        const std::filesystem::path& adapter = {},
                                        const LoadOptions& options = {});

}  // namespace predgen
