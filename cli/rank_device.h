#pragma once

#include <string>

#include "train/distributed/rank_place.h"

namespace predgen::cli {

/// Each of several ranks of a machine has a GPU of its own: the only one it sees, as srun can
/// arrange, or that of its number. `device: auto` is then this thread's. UserError if `device`
/// names one for all.
void choose_gpu(const train::RankPlace& place, const std::string& device);

}  // namespace predgen::cli
