#pragma once

#include <stop_token>

#include "core/error.h"

namespace predgen {

/// Throws Interrupted when a stop was asked for. Call it where stopping loses nothing. Who asks
/// (Ctrl-C, a client that left) is the caller's business: only cli/ knows of signals.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

}  // namespace predgen
