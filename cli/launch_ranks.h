#pragma once

#include <stop_token>
#include <string>

#include "train/distributed/rank_place.h"

namespace predgen::cli {

/// What the other ranks do when one fails: they get seconds to report it and are then killed, as
/// they cannot continue without it, or they take over its remaining work.
enum class RankFailure { kEndsAll, kOthersGoOn };

/// Runs this program's command line again, without --nproc, as `count` ranks on this machine, which
/// find each other by the variables that torchrun sets. Returns 0 if all ranks end well, or one of
/// those that go on does; 2 if one reports a user error, else the exit code of the first that
/// fails. A stop is passed on once. The ranks die with this process.
int launch_ranks(int count, RankFailure failure, const std::stop_token& stop);

/// Asked once by a rank that ends with an error: whether it reports why. Of the ranks started by
/// launch_ranks() only the first does; a rank of another launcher always does.
bool may_say_why();

/// Gives each of several ranks on a machine its own GPU: the only one it sees, as srun can arrange,
/// or the one with its number. `device: auto` then means this thread's. UserError if `device` names
/// one for all.
void choose_gpu(const train::RankPlace& place, const std::string& device);

}  // namespace predgen::cli
