#pragma once

#include <string>
#include <string_view>

namespace predgen::serve {

constexpr int kGoingAway = 1001;  // RFC 6455, section 7.4

/// Messages for a client. Sending never blocks: what the client has not read yet is queued, and a
/// client that lets the queue grow too long is cut off. Thread-safe.
class WebSocketSender {
 public:
  virtual ~WebSocketSender() = default;

  /// Sends a text message. Does nothing after the end of the connection, or close().
  virtual void send(std::string text) = 0;
  /// Ends the connection when what was sent before is out. `code`: of RFC 6455, section 7.4.
  virtual void close(int code, const std::string& reason) = 0;
};

/// What a connection does. Called by the connection's thread; an exception ends the connection.
class WebSocketHandler {
 public:
  virtual ~WebSocketHandler() = default;

  /// Messages may be sent to the client from now on, until on_close() returns.
  virtual void on_open(WebSocketSender& sender) = 0;
  virtual void on_text(std::string_view message) = 0;
  virtual void on_binary() = 0;
  /// The server stops: end the work in progress, and then the connection.
  virtual void on_drain() = 0;
  /// A limit on its time ends the connection; what is sent now still goes out.
  virtual void on_expiry(const std::string& why) = 0;
  /// The connection is over; always the last call.
  virtual void on_close() = 0;
};

}  // namespace predgen::serve
