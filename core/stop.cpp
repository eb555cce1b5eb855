#include "core/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace predgen {

StoppablePoll::Event::Event() : descriptor_(eventfd(0, EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw Error("cannot make an eventfd: {}", std::strerror(errno));
}

StoppablePoll::Event::~Event() { close(descriptor_); }

void StoppablePoll::Event::set() const {
  const uint64_t one = 1;
  while (write(descriptor_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

StoppablePoll::StoppablePoll(std::stop_token stop) : on_stop_(std::move(stop), SetEvent{event_}) {}

bool StoppablePoll::wait(int descriptor, short events, int milliseconds) const {
  pollfd polled[] = {{.fd = descriptor, .events = events, .revents = 0},
                     {.fd = event_.descriptor(), .events = POLLIN, .revents = 0}};
  while (poll(polled, 2, milliseconds) < 0) {
    if (errno != EINTR) throw Error("cannot wait for a file: {}", std::strerror(errno));
  }
  if (polled[1].revents != 0) throw Interrupted();
  return polled[0].revents != 0;
}

}  // namespace predgen
