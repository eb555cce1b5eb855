#pragma once

#include <memory>
#include <vector>

#include "train/distributed/communicator.h"

namespace predgen::train {

/// The communicators of `world_size` ranks that are threads of this process, by rank. Each belongs
/// to the thread of its rank. Destroying it means that the rank has ended: a rank that fails
/// releases the others when its stack is unwound. Sums are taken in the order of the ranks.
///
/// LibTorch's random generator is one for the process: ranks that draw from it (dropout) at the
/// same time do not draw the same numbers in every run.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int world_size);

}  // namespace predgen::train
