#pragma once

#include <stop_token>

#include "serve/wyoming/wyoming_event.h"

namespace predgen::serve {

/// Events for a client. Sending never waits: what the client has not read yet is queued, and one
/// that lets too much of it come together is cut off. Thread-safe.
class WyomingSender {
 public:
  virtual ~WyomingSender() = default;

  /// After the end of the connection, or close(), it does nothing.
  virtual void send(const WyomingEvent& event) = 0;
  /// Ends the connection when what was sent before is out.
  virtual void close() = 0;
  /// For who has a lot to send: waits until little is queued. False: there is nobody to send to, or
  /// `stop`.
  virtual bool wait_for_room(const std::stop_token& stop) = 0;
};

/// `code`: for programs.
inline WyomingEvent error_event(const std::string& text, const std::string& code) {
  return {.type = "error", .data = {{"text", text}, {"code", code}}};
}

}  // namespace predgen::serve
