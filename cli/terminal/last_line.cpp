#include "cli/terminal/last_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/text.h"

namespace predgen::cli {

int line_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 12;
  return (known ? size.ws_col : 80) - 4;
}

std::string last_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return std::string(last_bytes(text, static_cast<size_t>(line_width())));
}

}  // namespace predgen::cli
