#include "cli/interrupt.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "core/error.h"

namespace predgen::cli {
namespace {

// request_stop() takes locks and runs callbacks, which a signal handler must not: it writes to
// g_event, and a thread that reads from there asks for the stop.
volatile sig_atomic_t g_num_signals = 0;
int g_event = -1;
std::atomic<std::chrono::seconds> g_time_to_stop{std::chrono::seconds(5)};

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

/// Ends the process when the time to stop is over.
[[noreturn]] void end_in_time() {
  const auto asked = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - asked < g_time_to_stop.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::fprintf(stderr, "predgen: interrupted; it was in a step that took longer than %lld s\n",
               static_cast<long long>(g_time_to_stop.load().count()));
  _exit(130);
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
    std::thread([&source] {
      source.request_stop();
    }).detach();  // callbacks may take their time, too
    end_in_time();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void allow_time_to_stop(std::chrono::seconds time) { g_time_to_stop = time; }

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
