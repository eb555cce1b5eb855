#include "cli/interrupt.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>

#include "core/error.h"

namespace predgen::cli {
namespace {

// request_stop() takes locks and runs callbacks, which a signal handler must not: it writes to
// g_event, and a thread that reads from there asks for the stop.
volatile sig_atomic_t g_num_signals = 0;
int g_event = -1;

void on_signal(int number) {
  if (g_num_signals > 0) {
    if (number == SIGINT) _exit(130);
    return;  // batch systems send SIGTERM to every process, and launchers pass it on
  }
  g_num_signals = 1;
  const int before = errno;
  const uint64_t one = 1;
  if (write(g_event, &one, sizeof one) < 0) _exit(130);  // cannot stop cleanly
  errno = before;
}

/// A thread that no signal disturbs: it has its parent's mask.
void watch(const std::stop_source& source) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([source]() mutable {
    uint64_t count = 0;
    while (read(g_event, &count, sizeof count) < 0 && errno == EINTR) {
    }
    source.request_stop();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::stop_token install_interrupt_handler() {
  PREDGEN_CHECK(g_event < 0, "installed twice");
  g_event = eventfd(0, EFD_CLOEXEC);
  if (g_event < 0) throw Error("cannot make an eventfd: {}", std::strerror(errno));
  const std::stop_source source;
  watch(source);
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: a blocking read returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return source.get_token();
}

}  // namespace predgen::cli
