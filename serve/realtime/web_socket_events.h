#pragma once

#include "serve/http/web_socket.h"
#include "serve/realtime/event_sender.h"

namespace predgen::serve {

/// Events as messages of a WebSocket. Borrows the sender.
class WebSocketEvents : public EventSender {
 public:
  explicit WebSocketEvents(WebSocketSender& sender) : sender_(sender) {}

  void send(const char* type, const Json& fields) const override;
  void send_error(const ApiError& error, const std::string& event_id = {}) const override;
  void close(int code, const std::string& reason) const override { sender_.close(code, reason); }

 private:
  WebSocketSender& sender_;
};

}  // namespace predgen::serve
