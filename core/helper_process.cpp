#include "core/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "core/error.h"

namespace predgen {
namespace {

/// Pointers for exec, which end with null; `words` outlive them.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Our environment, with those in `changed` instead of ours.
std::vector<std::string> environment_with(const std::vector<std::string>& changed) {
  std::vector<std::string> all = changed;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view own = *entry;
    const std::string_view name = own.substr(0, own.find('=') + 1);
    const bool is_changed = std::ranges::any_of(
        changed, [&](const std::string& other) { return other.starts_with(name); });
    if (!is_changed) all.emplace_back(own);
  }
  return all;
}

}  // namespace

HelperProcess::HelperProcess(const std::filesystem::path& program, const HelperOptions& options)
    : program_(program), grace_(options.grace) {
  int sockets[2], pipes[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw Error("socketpair: {}", std::strerror(errno));
  }
  if (options.keeps_errors && pipe2(pipes, O_CLOEXEC) != 0) {
    const int why = errno;
    close(sockets[0]);
    close(sockets[1]);
    throw Error("pipe: {}", std::strerror(why));
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDOUT_FILENO);
  if (options.keeps_errors) posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
  // Closes all inherited descriptors: a client's socket ends only when no process holds it.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!options.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  }
  posix_spawnattr_setpgroup(&attributes, 0);
  // The helper must not inherit signals as ignored or blocked.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::string name = program.string();
  std::vector<std::string> words{name}, variables = environment_with(options.environment);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const int error = posix_spawnp(&pid_, name.c_str(), &actions, &attributes, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(sockets[1]);
  if (options.keeps_errors) close(pipes[1]);
  socket_ = sockets[0];
  errors_ = pipes[0];
  if (error != 0) {
    close(socket_);
    if (errors_ >= 0) close(errors_);
    const std::string why = std::strerror(error);
    const bool is_scarce = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
    if (is_scarce) throw Error("cannot start {}: {}", name, why);
    throw UserError("cannot start {}: {}", name, why);
  }
  if (options.niceness > 0) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), options.niceness);
  }
}

bool HelperProcess::has_left() const {
  const auto until = std::chrono::steady_clock::now() + steady_seconds(grace_.count());
  siginfo_t left{};
  while (std::chrono::steady_clock::now() < until) {
    // It stays a zombie, so that its group's number is not another's yet.
    const int flags = WEXITED | WNOHANG | WNOWAIT;
    if (waitid(P_PID, static_cast<id_t>(pid_), &left, flags) == 0 && left.si_pid == pid_) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

HelperProcess::~HelperProcess() {
  shutdown(socket_, SHUT_RDWR);
  close(socket_);
  if (grace_ > Seconds(0) && !has_left()) {
    kill(-pid_, SIGTERM);
    has_left();
  }
  if (errors_ >= 0) close(errors_);
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void HelperProcess::wait_for(short events, Seconds timeout) {
  pollfd wanted{.fd = socket_, .events = events, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  int ready = 0;
  do {
    ready = poll(&wanted, 1, static_cast<int>(milliseconds));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) throw Error("poll: {}", std::strerror(errno));
  if (ready == 0) throw Error("{} did not answer within {} s", program_.string(), timeout.count());
}

bool HelperProcess::send(std::string_view bytes, Seconds timeout) {
  while (!bytes.empty()) {
    // MSG_NOSIGNAL: a dead helper is reported by the result, not by SIGPIPE.
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      wait_for(POLLOUT, timeout);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool HelperProcess::receive(std::span<char> bytes, Seconds timeout) {
  while (!bytes.empty()) {
    wait_for(POLLIN, timeout);
    const ssize_t n = recv(socket_, bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace predgen
