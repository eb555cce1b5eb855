#pragma once

#include <stop_token>

#include "core/clock.h"
#include "runtime/speech/speaker.h"

namespace predgen {

/// Returns true when the last answer was played, false when none of it was played for a second: its
/// device is gone. Interrupted if `stop` comes first; it is checked every 20 ms.
bool wait_until_heard(const Speaker& speaker, Clock& clock, const std::stop_token& stop);

}  // namespace predgen
