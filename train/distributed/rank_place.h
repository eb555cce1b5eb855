#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace predgen::train {

/// Address of a run whose ranks are all on one machine.
constexpr const char* kThisMachine = "127.0.0.1";

/// A process's rank in a run, and the address where the ranks meet.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;   // among the ranks of this machine
  std::string address;  // of the store; empty if one rank; kThisMachine for any local name
  uint16_t port = 0;
  bool serves_store = false;  // this process serves it; else rank 0 or the launcher
  std::string attempt = "0";  // counted by a launcher that restarts runs
};

/// The place that the launcher sets in the environment: torchrun (RANK, LOCAL_RANK, WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT, ..), else srun (SLURM_PROCID, ..), else mpirun (OMPI_COMM_WORLD_RANK,
/// ..); with srun and mpirun, MASTER_ADDR and MASTER_PORT take precedence if set. Without
/// MASTER_PORT the port is derived from the job, so that jobs on one machine do not collide.
/// Without LOCAL_RANK, srun's or mpirun's local rank is used, if its rank is the same. `variable`
/// returns a variable's value. A process started by none of them is the only rank. UserError if the
/// variables are incomplete or contradict each other.
RankPlace rank_place(const std::function<std::optional<std::string>(const char* name)>& variable);
/// The same from this process's environment.
RankPlace rank_place();

}  // namespace predgen::train
