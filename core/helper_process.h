#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace predgen {

struct HelperOptions {
  std::vector<std::string> arguments{};  // behind the program's name
  int niceness = 10;                     // passes go first; 0: as we are
};

/// A child process whose standard input and output are one socket to us. It is in a process group
/// of its own, so that Ctrl-C reaches us only; it ends when we do, because its input ends. Used by
/// one thread at a time.
class HelperProcess {
 public:
  /// UserError if `program` cannot be started.
  explicit HelperProcess(const std::filesystem::path& program, const HelperOptions& options = {});
  ~HelperProcess();  // kills it
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// Both return false if the helper has ended, and throw Error after `timeout` without progress.
  bool send(std::string_view bytes, Seconds timeout);
  bool receive(std::span<char> bytes, Seconds timeout);

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }  // to wait for; open as long as this is there

 private:
  void wait_for(short events, Seconds timeout);

  std::filesystem::path program_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace predgen
