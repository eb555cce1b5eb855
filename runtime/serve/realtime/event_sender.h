#pragma once

#include <string>

#include "core/json.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/web_socket.h"

namespace predgen {

/// Events for a client, in the shapes of OpenAI's Realtime API. Thread-safe; borrows the sender.
class EventSender {
 public:
  explicit EventSender(WebSocketSender& sender) : sender_(sender) {}

  /// `fields`: an object; type and event_id come from here.
  void send(const char* type, const Json& fields) const;
  /// `event_id`: of the client's event that is to blame; empty: none.
  void send_error(const ApiError& error, const std::string& event_id = {}) const;
  /// After what was sent so far.
  void close(int code, const std::string& reason) const { sender_.close(code, reason); }

 private:
  WebSocketSender& sender_;
};

}  // namespace predgen
