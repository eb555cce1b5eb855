#pragma once

#include <string>

#include "core/json.h"
#include "serve/api_error.h"

namespace predgen::serve {

/// Where a conversation's events go, in the shapes of OpenAI's Realtime API. Thread-safe; never
/// waits.
class EventSender {
 public:
  virtual ~EventSender() = default;

  /// `fields`: an object; type and event_id come from here.
  virtual void send(const char* type, const Json& fields) const = 0;
  /// `event_id`: of the client's event that is to blame; empty: none.
  virtual void send_error(const ApiError& error, const std::string& event_id = {}) const = 0;
  /// After what was sent so far. `code`: of RFC 6455.
  virtual void close(int code, const std::string& reason) const = 0;
};

}  // namespace predgen::serve
