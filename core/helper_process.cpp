#include "core/helper_process.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"

namespace predgen {

HelperProcess::HelperProcess(const std::filesystem::path& program, const HelperOptions& options)
    : program_(program) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw Error("socketpair: {}", std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDOUT_FILENO);
  // Closes all inherited descriptors: a client's socket ends only when no process holds it.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
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
  std::string name = program.string();
  std::vector<std::string> words = options.arguments;
  std::vector<char*> arguments{name.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, name.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(sockets[1]);
  socket_ = sockets[0];
  if (error != 0) {
    close(socket_);
    const std::string why = std::strerror(error);
    const bool is_scarce = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
    if (is_scarce) throw Error("cannot start {}: {}", name, why);
    throw UserError("cannot start {}: {}", name, why);
  }
  if (options.niceness > 0) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), options.niceness);
  }
}

HelperProcess::~HelperProcess() {
  close(socket_);
  kill(pid_, SIGKILL);
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
