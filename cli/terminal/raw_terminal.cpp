#include "cli/terminal/raw_terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"

namespace predgen::cli {
namespace {

constexpr std::string_view kMarkPastes = "\033[?2004h";
// Pastes unmarked, rows wrapped, the cursor shown.
constexpr std::string_view kAsBefore = "\033[?2004l\033[?7h\033[?25h\033[0m";
constexpr std::array kLastSignals{SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                                  SIGSEGV, SIGBUS,  SIGFPE, SIGILL};

// What a signal handler needs; it can reach nothing else.
struct Saved {
  int in = -1, out = -1;
  termios settings{};
  std::array<struct sigaction, kLastSignals.size()> actions{};
};
Saved g_saved;
std::atomic<bool> g_is_raw = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// Async-signal-safe; does nothing the second time.
void put_back() {
  if (!g_is_raw.exchange(false)) return;
  const int error = errno;
  [[maybe_unused]] const ssize_t count = ::write(g_saved.out, kAsBefore.data(), kAsBefore.size());
  tcsetattr(g_saved.in, TCSANOW, &g_saved.settings);
  errno = error;
}

void on_last_signal(int signal) {
  put_back();
  for (size_t i = 0; i < kLastSignals.size(); ++i) {
    if (kLastSignals[i] == signal) sigaction(signal, &g_saved.actions[i], nullptr);
  }
  raise(signal);  // arrives when this returns
}

void make_raw(int in, int out) {
  termios settings = g_saved.settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN | ISIG);
  settings.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR | IGNCR | ISTRIP);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  if (tcsetattr(in, TCSANOW, &settings) != 0) {
    throw Error("cannot set up the terminal: {}", std::strerror(errno));
  }
  g_is_raw = true;
  [[maybe_unused]] const ssize_t count = ::write(out, kMarkPastes.data(), kMarkPastes.size());
}

}  // namespace

bool RawTerminal::is_possible(int in, int out) {
  const char* term = std::getenv("TERM");
  return isatty(in) && isatty(out) && term && std::string_view(term) != "dumb";
}

RawTerminal::RawTerminal(int in, int out) : in_(in), out_(out) {
  PREDGEN_CHECK(!g_is_raw, "a second terminal");
  g_saved.in = in;
  g_saved.out = out;
  if (tcgetattr(in, &g_saved.settings) != 0) {
    throw Error("cannot ask the terminal: {}", std::strerror(errno));
  }
  make_raw(in, out);
  [[maybe_unused]] static const int registered = std::atexit(put_back);
  struct sigaction action {};
  action.sa_handler = on_last_signal;
  for (size_t i = 0; i < kLastSignals.size(); ++i) {
    sigaction(kLastSignals[i], &action, &g_saved.actions[i]);
  }
}

RawTerminal::~RawTerminal() {
  put_back();
  for (size_t i = 0; i < kLastSignals.size(); ++i) {
    sigaction(kLastSignals[i], &g_saved.actions[i], nullptr);
  }
}

void RawTerminal::give_back() { put_back(); }

void RawTerminal::suspend() {
  put_back();
  raise(SIGTSTP);  // takes effect before it returns, unlike kill()
  make_raw(in_, out_);
}

bool RawTerminal::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(out_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

ScreenSize RawTerminal::size() const {
  winsize size{};
  if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace predgen::cli
