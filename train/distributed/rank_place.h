#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace predgen::train {

/// Address of a run whose ranks are all on one machine.
constexpr const char* kThisMachine = "127.0.0.1";

/// Where a process stands among the ranks of a run, and where they meet.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;   // among those of this machine
  std::string address;  // of the store; empty with one rank; kThisMachine for all its names
  uint16_t port = 0;
  bool serves_store = false;  // this process does; else rank 0 of others or the launcher
  std::string attempt = "0";  // of a launcher that starts runs again
};

/// As the launcher says it in the environment: torchrun (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT, ..), else srun (SLURM_PROCID, ..), else mpirun (OMPI_COMM_WORLD_RANK, ..); with
/// srun and mpirun, MASTER_ADDR and MASTER_PORT win where they are set. Without MASTER_PORT the
/// port follows from the job, so that jobs on one machine do not meet. Without LOCAL_RANK srun's or
/// mpirun's number counts, if it is of the same rank. `variable` gives a variable's value. A
/// process that none of them has started is the only rank. UserError if the variables are
/// incomplete or contradict each other.
RankPlace rank_place(const std::function<std::optional<std::string>(const char* name)>& variable);
/// As this process's environment says it.
RankPlace rank_place();

}  // namespace predgen::train
