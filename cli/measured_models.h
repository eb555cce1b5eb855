#pragma once

#include <vector>

#include "cli/suiting_models.h"

namespace predgen::cli {

/// The models in the folder of models, with the speed that the bytes of their files allow: how fast
/// our kernels read 4-bit weights here is measured within a second. Broken ones are left out.
std::vector<SuitingModel> measure_models();

}  // namespace predgen::cli
