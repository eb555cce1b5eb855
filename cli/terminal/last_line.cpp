#include "cli/terminal/last_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace predgen::cli {

std::string last_line(std::string text) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 8;
  const size_t width = (known ? size.ws_col : 80) - 4u;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() <= width) return text;
  size_t begin = text.size() - width;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

}  // namespace predgen::cli
