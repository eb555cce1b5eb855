#pragma once

#include <stop_token>

#include "core/clock.h"
#include "runtime/converse/session.h"
#include "runtime/engine/engine.h"
#include "runtime/speech/speaker.h"
#include "text/tokenizer.h"

namespace predgen::cli {

/// What a typed chat works with; all of it is borrowed.
struct TypedParts {
  Session& session;
  Engine& engine;
  const Tokenizer& tokenizer;
  SystemClock& clock;
  const Speaker& speaker;  // the session's
};

/// Turns and commands at a terminal (ChatScreen) until the user leaves. Log messages go to the
/// screen meanwhile. A turn that fails is reported and forgotten. Interrupted after a stop.
void run_typed_turns(const TypedParts& typed, int in, int out, const std::stop_token& stop);

}  // namespace predgen::cli
