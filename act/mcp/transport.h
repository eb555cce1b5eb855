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

// Messages of JSON-RPC 2.0, and members of what may be malformed.

namespace predgen::act {

/// A server is gone, or does not speak as it should. The message goes on from its name: "has
/// ended", say.
class ServerError : public Error {
 public:
  using Error::Error;
};

/// The same, and what the server was asked is not done: it did not get it, or says no.
class NotDone : public ServerError {
 public:
  using ServerError::ServerError;
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

/// In the "_meta" of requests in the revision that has no handshake.
inline constexpr const char* kRevisionKey = "io.modelcontextprotocol/protocolVersion";

/// A request, or without an id a notification.
inline Json message_of(const std::string& method, const Json& params,
                       std::optional<int64_t> id = {}) {
  Json message{{"jsonrpc", "2.0"}};
  if (id) message["id"] = *id;
  message["method"] = method;
  message["params"] = params;
  return message;
}

/// Empty unless `object` is one with such a text.
inline std::string text_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// 0 unless it has such a number.
inline double number_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

/// Ours are integers.
inline std::optional<int64_t> id_of(const Json& value) {
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

/// Null unless it is there.
inline Json member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

}  // namespace predgen::act
