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
  std::vector<std::string> arguments{};    // after the program's name
  int niceness = 10;                       // so that passes go first; 0: as this process
  std::vector<std::string> environment{};  // NAME=value, beside ours or instead
  std::filesystem::path folder{};          // where it runs; empty: here
  bool keeps_errors = false;               // what it writes to stderr comes to errors()
  Seconds grace{0};                        // to end by itself once its stdin is closed
};

/// A child process whose stdin and stdout are one socket to us. It is in its own process group, so
/// that Ctrl-C reaches only us; it ends when we do, because its stdin is closed. One thread at a
/// time sends, and one receives.
class HelperProcess {
 public:
  /// UserError if `program` cannot be started. Without a slash it is looked for in PATH.
  explicit HelperProcess(const std::filesystem::path& program, const HelperOptions& options = {});
  ~HelperProcess();  // kills it, with its process group, after the grace
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// Both return false if the helper has ended, and throw Error after `timeout` without progress.
  bool send(std::string_view bytes, Seconds timeout);
  bool receive(std::span<char> bytes, Seconds timeout);

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }  // to poll; open as long as this object lives
  int errors() const { return errors_; }  // likewise; -1 unless they are kept

 private:
  void wait_for(short events, Seconds timeout);
  /// Whether it has ended by itself within the grace.
  bool has_left() const;

  std::filesystem::path program_;
  Seconds grace_;
  pid_t pid_ = -1;
  int socket_ = -1, errors_ = -1;
};

}  // namespace predgen
