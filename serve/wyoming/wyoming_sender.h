#pragma once

#include <stop_token>

#include "serve/wyoming/wyoming_event.h"

namespace predgen::serve {

/// Events for a client. Sending never blocks: what the client has not read yet is queued, and a
/// client that lets the queue grow too long is cut off. Thread-safe.
class WyomingSender {
 public:
  virtual ~WyomingSender() = default;

  /// Does nothing after the end of the connection, or close().
  virtual void send(const WyomingEvent& event) = 0;
  /// Ends the connection when what was sent before is out.
  virtual void close() = 0;
  /// For large transfers: waits until little is queued. False: the client is gone, or
  /// `stop`.
  virtual bool wait_for_room(const std::stop_token& stop) = 0;
};

/// What a connection is for: takes its events. Used by the connection's thread.
class WyomingReceiver {
 public:
  virtual ~WyomingReceiver() = default;

  /// UserError for an event that cannot be understood, which ends the connection.
  virtual void take(const WyomingEvent& event) = 0;
  /// Closes the connection once nothing is in progress.
  virtual void drain() = 0;
};

/// `code`: for programs.
inline WyomingEvent error_event(const std::string& text, const std::string& code) {
  return {.type = "error", .data = {{"text", text}, {"code", code}}};
}

}  // namespace predgen::serve
