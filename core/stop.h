#pragma once

#include <chrono>
#include <stop_token>

#include "core/error.h"

namespace predgen {

/// Throws Interrupted if a stop was requested. Call it where stopping loses nothing. The source of
/// the request (Ctrl-C, a client that left) is the caller's concern: only cli/ handles signals.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

/// Returns at this time, or at once when a stop is requested.
void wait_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop);

}  // namespace predgen
