#include "train/distributed/rank_place.h"

#include <charconv>
#include <cstdlib>
#include <limits>

#include "core/error.h"

namespace predgen {
namespace {

constexpr uint16_t kPort = 29500;  // torch's

/// The environment, read as one launcher's names.
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

/// A launcher's names for the same things.
struct Names {
  const char *launcher, *rank, *world_size, *local_rank, *num_local;
};

RankPlace read_place(const Variables& variables, const Names& names) {
  RankPlace place;
  place.world_size = variables.number(names.world_size, 1, kMany);
  place.rank = variables.number(names.rank, 0, place.world_size - 1);
  // One machine where nothing else is said.
  place.local_rank = variables.number_or(place.rank, names.local_rank, 0, place.world_size - 1);
  place.serves_store = place.rank == 0;
  return place;
}

/// "node[003-007,9],other" begins with "node003".
std::string first_host(const std::string& nodes) {
  const size_t bracket = nodes.find('['), comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const size_t end = nodes.find_first_of(",-]", bracket);
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1);
}

/// If all ranks are here.
std::string this_machine(const Variables& variables, const Names& names, const RankPlace& place) {
  const int num_local = variables.number_or(place.world_size, names.num_local, 1, place.world_size);
  return num_local == place.world_size ? kThisMachine : "";
}

/// Where the ranks meet, unless `address` and `port` are overruled.
void read_meeting(const Variables& variables, RankPlace& place, const std::string& address,
                  uint16_t port) {
  place.address = variables.text("MASTER_ADDR").value_or(address);
  place.port = static_cast<uint16_t>(variables.number_or(port, "MASTER_PORT", 1, 65535));
  if (place.address.empty()) {
    throw UserError(
        "the ranks are on several machines: set MASTER_ADDR to the name of rank 0's, and "
        "MASTER_PORT if {} is taken",
        port);
  }
}

}  // namespace

RankPlace rank_place(const Variables::Read& variable) {
  const Names torchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
  // SLURM_NTASKS is also set where srun has not started anything.
  const Names srun{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
  const Names mpirun{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
  const Variables of_torchrun(variable, torchrun.launcher), of_srun(variable, srun.launcher),
      of_mpirun(variable, mpirun.launcher);
  RankPlace place;
  if (of_torchrun.text(torchrun.rank) || of_torchrun.text(torchrun.world_size)) {
    place = read_place(of_torchrun, torchrun);
    if (place.world_size == 1) return place;
    read_meeting(of_torchrun, place, this_machine(of_torchrun, torchrun, place), kPort);
    if (of_torchrun.text("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
      place.serves_store = false;
    }
    place.attempt = of_torchrun.text("TORCHELASTIC_RESTART_COUNT").value_or("0");
  } else if (of_srun.text(srun.world_size)) {
    place = read_place(of_srun, srun);
    if (place.world_size == 1) return place;
    const std::string nodes = of_srun.text("SLURM_STEP_NODELIST")
                                  .value_or(of_srun.text("SLURM_JOB_NODELIST").value_or(""));
    // Jobs that share a machine meet at different ports, below those that the system hands out.
    const int job = of_srun.number_or(0, "SLURM_JOB_ID", 0, std::numeric_limits<int>::max());
    read_meeting(of_srun, place, first_host(nodes), static_cast<uint16_t>(20000 + job % 12000));
    place.attempt = fmt::format("{}.{}", job, of_srun.text("SLURM_STEP_ID").value_or("0"));
  } else if (of_mpirun.text(mpirun.world_size)) {
    place = read_place(of_mpirun, mpirun);
    if (place.world_size == 1) return place;
    read_meeting(of_mpirun, place, this_machine(of_mpirun, mpirun, place), kPort);
  }
  return place;
}

RankPlace rank_place() {
  return rank_place([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace predgen
