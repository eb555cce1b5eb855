#pragma once

#include <string>

#include "core/json.h"
#include "hear/end_of_turn.h"
#include "serve/realtime/refusals.h"
#include "serve/request_fields.h"

namespace predgen::serve {

/// How a client wants spoken turns detected.
struct TurnDetection {
  /// Detected: "server_vad" or, with waits, "semantic_vad"; otherwise the client commits what it
  /// has sent.
  EndOfTurn end{};
  std::string eagerness = "auto";  // of "semantic_vad"
  bool creates_response = true;
  bool interrupts_response = true;  // by the first word

  /// As in session.created.
  Json json() const;
};

/// `before`, changed by the session's field `name`. `waits`: of the eagerness "auto". What cannot
/// be done is noted. ApiError, and nothing changes, for a kind of turn detection that is not
/// supported.
TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before, const EndWaits& waits,
                                  Refusals& refusals);

}  // namespace predgen::serve
