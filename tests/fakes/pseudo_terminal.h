#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace predgen {

/// A terminal that a program can be given, and its other end: the keyboard and the screen.
class PseudoTerminal {
 public:
  PseudoTerminal(int columns, int rows) : keyboard_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (keyboard_ < 0 || grantpt(keyboard_) != 0 || unlockpt(keyboard_) != 0) {
      throw std::runtime_error("no pseudo terminal");
    }
    terminal_ = open(ptsname(keyboard_), O_RDWR | O_NOCTTY);
    termios settings{};
    tcgetattr(terminal_, &settings);
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // what is written is what is read
    tcsetattr(terminal_, TCSANOW, &settings);
    resize(columns, rows);
  }
  ~PseudoTerminal() {
    close(terminal_);
    close(keyboard_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;

  int fd() const { return terminal_; }

  void resize(int columns, int rows) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void type(const std::string& keys) {
    if (write(keyboard_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
      throw std::runtime_error("keys were lost");
    }
  }
  /// Reads on until `text` was written; what was read. Throws if it never comes.
  std::string read_until(const std::string& text) {
    constexpr int kMilliseconds = 20000;
    std::string seen;
    while (seen.find(text) == std::string::npos) {
      pollfd poller{.fd = keyboard_, .events = POLLIN, .revents = 0};
      char buffer[4096];
      const ssize_t count =
          poll(&poller, 1, kMilliseconds) > 0 ? read(keyboard_, buffer, sizeof buffer) : 0;
      if (count <= 0) throw std::runtime_error("in vain for " + text + " after " + seen);
      seen.append(buffer, static_cast<size_t>(count));
    }
    return seen;
  }
  /// Whether it echoes and waits for whole lines, as a shell wants it.
  bool is_as_before() const {
    termios settings{};
    tcgetattr(terminal_, &settings);
    return (settings.c_lflag & ICANON) && (settings.c_lflag & ECHO) && (settings.c_lflag & ISIG) &&
           (settings.c_iflag & ICRNL);
  }

 private:
  int keyboard_, terminal_ = -1;
};

}  // namespace predgen
