#include "cli/enter_key.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "core/stop.h"
#include "core/stoppable_poll.h"

namespace predgen::cli {

EnterKey::EnterKey(int fd, std::function<void(bool is_on)> on_change)
    : reader_([this, fd, change = std::move(on_change)](const std::stop_token& destroyed) {
        try {
          const StoppablePoll poll(destroyed);
          while (true) {
            poll.wait(fd, POLLIN);
            char byte = 0;
            const ssize_t count = read(fd, &byte, 1);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) break;
            if (byte != '\n') continue;
            is_on_ = !is_on_;
            change(is_on_);
          }
        } catch (const std::exception&) {  // Interrupted, or the terminal is gone
        }
        if (is_on_.exchange(false)) change(false);
      }) {}

}  // namespace predgen::cli
