#pragma once

#include <chrono>
#include <stop_token>

namespace predgen::cli {

/// From now on the first Ctrl-C (SIGINT) or SIGTERM asks for a stop through the token. A process
/// that has not ended some seconds later, because a step of its work does not look at the token, is
/// ended (130), and so is one that gets another Ctrl-C. For main(), once, before it starts threads:
/// the handlers and a thread that waits for them live as long as the process. Error if the system
/// refuses.
std::stop_token install_interrupt_handler();

/// For a command that has something to finish after it was asked to stop: how long that may take.
/// Any thread.
void allow_time_to_stop(std::chrono::seconds time);

}  // namespace predgen::cli
