#include "core/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "core/error.h"

namespace predgen {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int) {
  if (g_interrupted) _exit(130);
  g_interrupted = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: a blocking read returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

}  // namespace predgen
