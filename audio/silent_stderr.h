#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace predgen {

/// Silences stderr while it lives: ALSA and JACK report every device that they do not find.
class SilentStderr {
 public:
  SilentStderr() {
    std::fflush(stderr);
    saved_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
      dup2(nowhere, STDERR_FILENO);
      close(nowhere);
    }
  }
  ~SilentStderr() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
  }
  SilentStderr(const SilentStderr&) = delete;
  SilentStderr& operator=(const SilentStderr&) = delete;

 private:
  int saved_ = -1;
};

}  // namespace predgen
