#include "cli/bench_conditions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace predgen::cli {

namespace fs = std::filesystem;
namespace {

struct Pages {
  size_t all = 0, cached = 0;
};

/// nullopt if unknown.
std::optional<Pages> pages_of(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  struct stat status {};
  // For files that a program does not own, the system reports all pages as present.
  const bool is_known = fstat(descriptor, &status) == 0 && status.st_size > 0 &&
                        (status.st_uid == geteuid() || access(file.c_str(), W_OK) == 0);
  const auto size = is_known ? static_cast<size_t>(status.st_size) : 0;
  void* address =
      is_known ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (address == MAP_FAILED) return {};
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> flags((size + page - 1) / page);
  const bool is_told = mincore(address, size, flags.data()) == 0;
  munmap(address, size);
  if (!is_told) return {};
  const auto cached =
      std::ranges::count_if(flags, [](unsigned char flag) { return (flag & 1) != 0; });
  return Pages{flags.size(), static_cast<size_t>(cached)};
}

}  // namespace

double seconds_since_start() {
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;  // the 22nd: start time, since the system's start
  timespec now{};
  if (!fields || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const double started = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return std::max(
      0.0, static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - started);
}

std::optional<double> cached_share(const std::vector<fs::path>& files) {
  Pages sum;
  for (const fs::path& file : files) {
    const std::optional<Pages> pages = pages_of(file);
    if (!pages) return {};
    sum.all += pages->all;
    sum.cached += pages->cached;
  }
  if (sum.all == 0) return {};
  return static_cast<double>(sum.cached) / static_cast<double>(sum.all);
}

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
