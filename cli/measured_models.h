#pragma once

#include <string>
#include <vector>

#include "cli/suiting_models.h"

namespace predgen::cli {

/// The models in the folder of models, with the speed that the bytes of their files allow: how fast
/// our kernels read 4-bit weights here is measured within a second. Broken ones are left out.
std::vector<SuitingModel> measure_models();

/// name_better() of them. Nothing is measured if `used` is none of them, or the only one.
std::string measure_better(const std::string& used);

}  // namespace predgen::cli
