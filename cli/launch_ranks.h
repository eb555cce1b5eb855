#pragma once

#include <stop_token>
#include <string>

#include "train/distributed/rank_place.h"

namespace predgen::cli {

/// What becomes of the others when a rank fails: they get seconds to say so and are then killed, as
/// they cannot go on without it, or they take over what it has left.
enum class RankFailure { kEndsAll, kOthersGoOn };

/// Runs this program's command line again, without --nproc, as `count` ranks on this machine, which
/// find each other by the variables that torchrun sets. Returns 0 if all end well, or one of those
/// that go on; 2 if one says that the user must change something, else the exit code of the first
/// that does not. A stop is passed on once. The ranks die with this process.
int launch_ranks(int count, RankFailure failure, const std::stop_token& stop);

/// Asked once by a rank that ends with an error: whether it says why. Of those that launch_ranks()
/// has started the first one does; a rank of another launcher always.
bool may_say_why();

/// Each of several ranks of a machine has a GPU of its own: the only one it sees, as srun can
/// arrange, or that of its number. `device: auto` is then this thread's. UserError if `device`
/// names one for all.
void choose_gpu(const train::RankPlace& place, const std::string& device);

}  // namespace predgen::cli
