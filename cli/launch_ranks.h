#pragma once

#include <stop_token>

namespace predgen {

/// Runs this program's command line again, without --nproc, as `count` ranks on this machine, which
/// find each other by the variables that torchrun sets. Returns 0 if all end well, 2 if one says
/// that the user must change something, else the exit code of the first that does not. A stop is
/// passed on once. When a rank fails, the others get seconds to say so and are then killed; they
/// die with this process, too.
int launch_ranks(int count, const std::stop_token& stop);

}  // namespace predgen
