#include "train/distributed/rank_place.h"

#include <charconv>
#include <cstdlib>

#include "core/error.h"
#include "core/hash.h"

namespace predgen::train {
namespace {

/// The environment, read by the variable names of one launcher.
class Variables {
 public:
  using Read = std::function<std::optional<std::string>(const char* name)>;

  Variables(const Read& read, const char* launcher) : read_(read), launcher_(launcher) {}

  std::optional<std::string> text(const char* name) const {
    std::optional<std::string> value = read_(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  /// A number in [minimum, maximum].
  int number(const char* name, int minimum, int maximum) const {
    const std::optional<std::string> value = text(name);
    if (!value) {
      throw UserError("the environment has ranks of {}, but no {}: set it, or unset the others",
                      launcher_, name);
    }
    int parsed = 0;
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, parsed);
    if (error != std::errc() || stop != end || parsed < minimum || parsed > maximum) {
      throw UserError("{} is \"{}\" in the environment: must be a number from {} to {}", name,
                      *value, minimum, maximum);
    }
    return parsed;
  }
  int number_or(int otherwise, const char* name, int minimum, int maximum) const {
    return text(name) ? number(name, minimum, maximum) : otherwise;
  }

 private:
  const Read& read_;
  const char* launcher_;
};

constexpr int kMany = 1 << 20;

/// A launcher's names of the variables.
struct Names {
  const char *launcher, *rank, *world_size, *local_rank, *num_local;
};
constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
// SLURM_NTASKS is also set if srun has not started anything.
constexpr Names kSrun{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr Names kMpirun{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};

RankPlace read_place(const Variables& variables, const Names& names) {
  RankPlace place;
  place.world_size = variables.number(names.world_size, 1, kMany);
  place.rank = variables.number(names.rank, 0, place.world_size - 1);
  place.serves_store = place.rank == 0;
  return place;
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

/// "node[003-007,9],other" begins with "node003".
std::string first_host(const std::string& nodes) {
  const size_t bracket = nodes.find('['), comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const size_t end = nodes.find_first_of(",-]", bracket);
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1);
}

/// kThisMachine if all ranks are on this machine.
std::string this_machine(const Variables& variables, const Names& names, const RankPlace& place) {
  const int num_local = variables.number_or(place.world_size, names.num_local, 1, place.world_size);
  return num_local == place.world_size ? kThisMachine : "";
}

/// Sets where the ranks meet, unless `address` and `port` are overridden.
void read_meeting(const Variables& variables, RankPlace& place, const std::string& address,
                  uint16_t port) {
  place.address = variables.text("MASTER_ADDR").value_or(address);
  if (is_loopback(place.address)) place.address = kThisMachine;
  place.port = static_cast<uint16_t>(variables.number_or(port, "MASTER_PORT", 1, 65535));
  if (place.address.empty()) {
    throw UserError(
        "the ranks are on several machines: set MASTER_ADDR to the name of rank 0's, and "
        "MASTER_PORT if {} is taken",
        port);
  }
}

/// A value unique to a job and common to its ranks: the names of Open MPI and PMIx, or SLURM's job
/// number; empty if there is none.
std::string job_of(const Variables& variables) {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"}) {
    if (const auto job = variables.text(name)) return *job;
  }
  return "";
}

/// For jobs that share a machine, below the ephemeral ports; else torch's default.
uint16_t port_of(const std::string& job) {
  if (job.empty()) return 29500;
  const std::string hash = Hasher().add(job).hex().substr(0, 8);
  return static_cast<uint16_t>(20000 + std::stoul(hash, nullptr, 16) % 12000);
}

/// LOCAL_RANK, or the variable of the launcher that gives the same rank.
int local_rank_of_torchrun(const Variables& variables, const RankPlace& place) {
  const std::string rank = std::to_string(place.rank), size = std::to_string(place.world_size);
  for (const Names& names : {kTorchrun, kSrun, kMpirun}) {
    if (!variables.text(names.local_rank)) continue;
    if (variables.text(names.rank) != rank || variables.text(names.world_size) != size) continue;
    return variables.number(names.local_rank, 0, place.world_size - 1);
  }
  if (place.address == kThisMachine) return place.rank;
  return variables.number(kTorchrun.local_rank, 0, place.world_size - 1);
}

}  // namespace

RankPlace rank_place(const Variables::Read& variable) {
  const Variables of_torchrun(variable, kTorchrun.launcher), of_srun(variable, kSrun.launcher),
      of_mpirun(variable, kMpirun.launcher);
  RankPlace place;
  if (of_torchrun.text(kTorchrun.rank) || of_torchrun.text(kTorchrun.world_size)) {
    place = read_place(of_torchrun, kTorchrun);
    if (place.world_size == 1) return place;
    read_meeting(of_torchrun, place, this_machine(of_torchrun, kTorchrun, place),
                 port_of(job_of(of_torchrun)));
    place.local_rank = local_rank_of_torchrun(of_torchrun, place);
    if (of_torchrun.text("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
      place.serves_store = false;
    }
    place.attempt = of_torchrun.text("TORCHELASTIC_RESTART_COUNT").value_or("0");
  } else if (of_srun.text(kSrun.world_size)) {
    place = read_place(of_srun, kSrun);
    if (place.world_size == 1) return place;
    place.local_rank = of_srun.number(kSrun.local_rank, 0, place.world_size - 1);
    const std::string nodes = of_srun.text("SLURM_STEP_NODELIST")
                                  .value_or(of_srun.text("SLURM_JOB_NODELIST").value_or(""));
    place.attempt = fmt::format("{}.{}", of_srun.text("SLURM_JOB_ID").value_or("0"),
                                of_srun.text("SLURM_STEP_ID").value_or("0"));
    read_meeting(of_srun, place, first_host(nodes), port_of(place.attempt));
  } else if (of_mpirun.text(kMpirun.world_size)) {
    place = read_place(of_mpirun, kMpirun);
    if (place.world_size == 1) return place;
    place.local_rank = of_mpirun.number(kMpirun.local_rank, 0, place.world_size - 1);
    const std::string job = job_of(of_mpirun);
    read_meeting(of_mpirun, place, this_machine(of_mpirun, kMpirun, place), port_of(job));
    if (!job.empty()) place.attempt = job;
  }
  return place;
}

RankPlace rank_place() {
  return rank_place([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace predgen::train
