#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "serve/request_fields.h"

namespace predgen::serve {

/// Who says where a turn of sound ends. The recogniser's words say where one begins, so there is no
/// loudness to set.
struct TurnDetection {
  bool is_on = false;        // "server_vad"; otherwise the client commits what it has sent
  int64_t silence_ms = 500;  // of sound without new words before a pause ends the turn
  bool creates_response = true;
  bool interrupts_response = true;  // by the first word

  /// As in session.created.
  Json json() const;
};

/// `before`, as it is changed by the session's field `name`. ApiError for a way to detect turns
/// that is not supported.
TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before);

}  // namespace predgen::serve
