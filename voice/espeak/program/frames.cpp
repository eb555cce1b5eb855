// SPDX-License-Identifier: GPL-3.0-or-later
#include "frames.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

void write_frame(char type, std::string_view payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  std::string frame(1, type);
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(length >> shift));
  frame.append(payload);
  for (size_t written = 0; written < frame.size();) {
    const ssize_t n = write(STDOUT_FILENO, frame.data() + written, frame.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::exit(1);
    written += static_cast<size_t>(n);
  }
}
