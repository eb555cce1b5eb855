#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"

namespace predgen::act {

/// A server is gone, or does not speak as it should. The message goes on from its name: "has
/// ended", say.
class ServerError : public Error {
 public:
  using Error::Error;
};

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline in_seconds(double seconds) {
  return std::chrono::steady_clock::now() + steady_seconds(seconds);
}

/// The largest message that a server may send; what is above fails what was asked.
inline constexpr size_t kMaxMessageBytes = 4 << 20;

/// Receives what a server sends, in any thread.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;

  /// A text that should be one message of JSON-RPC. Returns the request that it answers.
  virtual std::optional<int64_t> on_text(std::string_view text) = 0;
  /// A message was larger than kMaxMessageBytes, and is dropped.
  virtual void on_too_large() = 0;
  /// Nothing more comes; `why` as in ServerError.
  virtual void on_end(const std::string& why) = 0;
};

/// The way to a server and back. Thread-safe. Once it is destroyed, nothing more is received.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends a message. Where answers come as answers of HTTP, it returns once the handler has got
  /// the one to this message. ServerError if it cannot be sent by the deadline, or was refused;
  /// Interrupted after a stop.
  virtual void send(const Json& message, Deadline deadline, const std::stop_token& stop) = 0;
  /// The revision of the protocol is agreed on. From here on the handler gets what the server sends
  /// unasked; `subscription`: the request for that, null where the revision has none.
  virtual void listen(const std::string& revision, const Json& subscription) = 0;
};

}  // namespace predgen::act
