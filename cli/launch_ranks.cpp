#include "cli/launch_ranks.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cli/interrupt.h"
#include "core/error.h"
#include "core/files.h"
#include "model/gpu/cuda_module.h"
#include "model/load_options.h"
#include "train/distributed/process_communicator.h"

namespace predgen::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kToSaySo{5};   // for the others, after a rank failed
constexpr std::chrono::seconds kToSave{600};  // after a stop, while rank 0 may write
constexpr int kUserError = 2, kInterrupted = 130;
constexpr const char* kWordName = "PREDGEN_RANK_WORD";  // a descriptor, in the environment of ranks

/// A pipe that holds one byte: the rank that reads it may report.
class OneWord {
 public:
  OneWord() {
    int ends[2];
    if (pipe(ends) != 0) throw Error("cannot open a pipe: {}", std::strerror(errno));
    reading_ = ends[0];
    const bool written = write(ends[1], "1", 1) == 1;
    close(ends[1]);  // later readers find the end of the file
    PREDGEN_CHECK(written, "a pipe takes no byte");
    setenv(kWordName, std::to_string(reading_).c_str(), 1);
  }
  ~OneWord() { close(reading_); }
  OneWord(const OneWord&) = delete;
  OneWord& operator=(const OneWord&) = delete;

 private:
  int reading_;
};

/// The command line of this process without --nproc and its value.
std::vector<std::string> own_arguments() {
  constexpr std::string_view kOption = "--nproc";
  const std::string line = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find('\0', begin), line.size());
    const std::string argument = line.substr(begin, end - begin);
    begin = end + 1;
    if (argument == kOption) {
      begin = line.find('\0', begin) + 1;  // its value
    } else if (!argument.starts_with(std::string(kOption) + "=")) {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

struct Child {
  pid_t pid = -1;
  std::optional<int> status{};  // as of waitpid, once it has ended
};

class Ranks {
 public:
  explicit Ranks(int count) {
    const std::vector<std::string> arguments = own_arguments();
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    // Each rank gets a share of the processors; LibTorch would use all of them in every rank.
    const unsigned share = std::max(1U, std::thread::hardware_concurrency() / unsigned(count));
    setenv("OMP_NUM_THREADS", std::to_string(share).c_str(), /*overwrite=*/0);
    setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
    setenv("LOCAL_WORLD_SIZE", std::to_string(count).c_str(), 1);
    setenv("MASTER_ADDR", train::kThisMachine, 1);
    setenv("MASTER_PORT", std::to_string(store_.port()).c_str(), 1);
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    for (int rank = 0; rank < count; ++rank) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      children_.push_back({start(pointers.data())});
    }
  }
  ~Ranks() { signal_all(SIGKILL); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int wait(RankFailure failure, const std::stop_token& stop) {
    std::optional<int> code;  // of the first that failed
    SteadyClock::time_point patience = SteadyClock::time_point::max();
    bool has_ended_well = false;
    while (std::ranges::any_of(children_, [](const Child& child) { return !child.status; })) {
      for (size_t rank = 0; rank < children_.size(); ++rank) {
        Child& child = children_[rank];
        int status = 0;
        if (child.status || waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
        child.status = status;
        has_ended_well |= status == 0;
        if (status == 0) continue;
        const int ended_with = exit_code(rank, status);
        // The code of the rank that made the others fail, which may end after them.
        if (!code || ended_with == kUserError) code = ended_with;
        if (failure == RankFailure::kOthersGoOn && !was_stopped_) continue;
        patience =
            std::min(patience, SteadyClock::now() + (*code == kInterrupted ? kToSave : kToSaySo));
      }
      if (stop.stop_requested() && !std::exchange(was_stopped_, true)) {
        signal_all(SIGTERM);
        // The others end together; a single one has no others to wait for.
        if (std::ranges::any_of(children_,
                                [](const Child& child) { return child.status.has_value(); })) {
          patience = std::min(patience, SteadyClock::now() + kToSave);
        }
      }
      if (SteadyClock::now() > patience && !std::exchange(kills_, true)) signal_all(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const bool is_done = has_ended_well && failure == RankFailure::kOthersGoOn;
    return is_done ? 0 : code.value_or(0);
  }

 private:
  static pid_t start(char* const* arguments) {
    // A stop between fork and exec would go to one of our handlers and be lost.
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) throw Error("cannot start a rank: {}", std::strerror(errno));
    if (pid > 0) return pid;
    // Only system calls between fork and exec: the store has threads.
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
    setpgid(0, 0);  // Ctrl-C reaches the ranks once, through the launcher
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execv("/proc/self/exe", arguments);
    _exit(127);
  }

  int exit_code(size_t rank, int status) const {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    // It had only just begun, and had no signal handlers yet.
    if (was_stopped_ && WTERMSIG(status) == SIGTERM) return kInterrupted;
    if (kills_) {
      std::fprintf(stderr, "predgen: failed: rank %zu did not end and was killed\n", rank);
    } else {
      std::fprintf(stderr, "predgen: failed: rank %zu was ended by signal %d (%s)\n", rank,
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return 1;
  }

  void signal_all(int number) const {
    for (const Child& child : children_) {
      if (!child.status) kill(child.pid, number);
    }
  }

  const train::RankStore store_;
  const OneWord word_;
  std::vector<Child> children_;
  bool was_stopped_ = false;  // and has told the ranks
  bool kills_ = false;        // ranks that have not ended in time
};

}  // namespace

int launch_ranks(int count, RankFailure failure, const std::stop_token& stop) {
  allow_time_to_stop(kToSave + std::chrono::seconds(10));  // each rank has its own bound
  signal(SIGPIPE, SIG_IGN);  // the store writes to ranks that may have gone
  signal(SIGCHLD, SIG_DFL);  // ranks are waited for
  return Ranks(count).wait(failure, stop);
}

bool may_say_why() {
  const char* word = std::getenv(kWordName);
  char byte = 0;
  return word == nullptr || read(std::atoi(word), &byte, 1) != 0;  // an error does not silence it
}

void choose_gpu(const train::RankPlace& place, const std::string& device) {
  if (device.starts_with("cuda")) {
    throw UserError("device: {} would put every rank on one GPU; use auto", device);
  }
  if (device != "auto" || !parse_device("auto").is_cuda()) return;
  const int index = cuda_support().num_gpus == 1 ? 0 : place.local_rank;
  const at::Device own = parse_device(fmt::format("cuda:{}", index));
  c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(own);
}

}  // namespace predgen::cli
