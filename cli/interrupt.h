#pragma once

#include <stop_token>

namespace predgen::cli {

/// From now on the first Ctrl-C (SIGINT) or SIGTERM asks for a stop through the token, and a Ctrl-C
/// after that ends the process at once (130). For main(), once, before it starts threads: the
/// handlers and a thread that waits for them live as long as the process. Error if the system
/// refuses.
std::stop_token install_interrupt_handler();

}  // namespace predgen::cli
