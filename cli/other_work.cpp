#include "cli/other_work.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

namespace predgen::cli {
namespace {

constexpr double kWorthAWord = 0.25;  // processors

std::vector<int> own_processors() {
  cpu_set_t set;
  std::vector<int> own;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return own;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) own.push_back(i);
  }
  return own;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

long busy_ticks(const std::string& stat, const std::vector<int>& processors) {
  long sum = 0;
  std::istringstream lines(stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    const bool is_own = std::ranges::any_of(
        processors, [&](int processor) { return name == "cpu" + std::to_string(processor); });
    if (!is_own) continue;
    // user, nice, system, idle, iowait, irq, softirq, steal; then guests, which `user` holds
    long ticks = 0;
    for (int i = 0; i < 8 && fields >> ticks; ++i) {
      if (i != 3 && i != 4) sum += ticks;
    }
  }
  return sum;
}

OtherWork::OtherWork()
    : processors_(own_processors()),
      begin_(std::chrono::steady_clock::now()),
      seconds_at_begin_(seconds()) {}

double OtherWork::seconds() const {
  std::ifstream file("/proc/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), {});
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  rusage children{};  // those that have ended
  getrusage(RUSAGE_CHILDREN, &children);
  return static_cast<double>(busy_ticks(stat, processors_)) /
             static_cast<double>(sysconf(_SC_CLK_TCK)) -
         static_cast<double>(own.tv_sec) - static_cast<double>(own.tv_nsec) * 1e-9 -
         seconds_of(children.ru_utime) - seconds_of(children.ru_stime);
}

double OtherWork::processors() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  return std::max(0.0, (seconds() - seconds_at_begin_) / std::max(passed.count(), 0.01));
}

std::string OtherWork::warning(int num_threads) const {
  const double others = processors();
  const auto count = static_cast<double>(processors_.size());
  if (others + std::min<double>(num_threads, count) < count + kWorthAWord) return {};
  return fmt::format(
      "other programs take {:.1f} of {} cores, and threads wait for each other: stop them, or give "
      "fewer threads (--threads)",
      others, processors_.size());
}

}  // namespace predgen::cli
