#pragma once

#include <memory>
#include <stop_token>

#include "checkpoint/checkpoint.h"
#include "cli/loaded_session.h"
#include "core/clock.h"

namespace predgen::cli {

/// Turns and commands at a terminal (ChatScreen) until the user leaves; returns when all sound was
/// played. The line can be typed while the conversation is being loaded. Log messages go to the
/// screen meanwhile. A turn that fails is reported and forgotten. Interrupted after a stop;
/// UserError as LoadedSession's constructor; the terminal is put back first.
void run_typed_turns(const ConversationOptions& options,
                     std::unique_ptr<const Checkpoint> checkpoint, SystemClock& clock, int in,
                     int out, const std::stop_token& stop);

}  // namespace predgen::cli
