#include "core/machine_use.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>

namespace predgen {

namespace fs = std::filesystem;

namespace {

Seconds time_of(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return Seconds(0);  // the process has ended
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

Seconds time_of_children() {
  Seconds sum{0};
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    std::ifstream children(task.path() / "children");
    clockid_t clock{};
    for (pid_t child = 0; children >> child;) {
      if (clock_getcpuclockid(child, &clock) == 0) sum += time_of(clock);
    }
  }
  return sum;
}

/// Of the packages, "intel-rapl:0" and so on; their parts have two numbers.
std::optional<double> joules_of(const fs::path& powercap) {
  std::optional<double> sum;
  std::error_code error;
  for (const auto& domain : fs::directory_iterator(powercap, error)) {
    const std::string name = domain.path().filename();
    const size_t number = name.find(':');
    if (number == std::string::npos || name.find(':', number + 1) != std::string::npos) continue;
    double microjoules = 0;
    if (!(std::ifstream(domain.path() / "energy_uj") >> microjoules)) return std::nullopt;
    sum = sum.value_or(0) + 1e-6 * microjoules;
  }
  return sum;
}

}  // namespace

MachineUse MachineUse::since(const MachineUse& before) const {
  MachineUse used{.own = own - before.own,
                  .helpers = std::max(helpers - before.helpers, Seconds(0))};
  if (joules && before.joules && *joules >= *before.joules) used.joules = *joules - *before.joules;
  return used;
}

MachineUse machine_use(const fs::path& powercap) {
  return {.own = time_of(CLOCK_PROCESS_CPUTIME_ID),
          .helpers = time_of_children(),
          .joules = joules_of(powercap)};
}

}  // namespace predgen
