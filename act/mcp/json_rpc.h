#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json.h"

// Messages of JSON-RPC 2.0, and members of what may be malformed.
namespace predgen::act {

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
