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
  std::vector<std::string> arguments{};  // after the program's name
  int niceness = 10;                     // so that passes go first; 0: as this process
};

/// A child process whose stdin and stdout are one socket to us. It is in its own process group, so
/// that Ctrl-C reaches only us; it ends when we do, because its stdin is closed. Used by one thread
/// at a time.
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
  int socket() const { return socket_; }  // to poll; open as long as this object lives

 private:
  void wait_for(short events, Seconds timeout);

  std::filesystem::path program_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace predgen
