#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace predgen::serve {

/// One event of the Wyoming protocol (https://github.com/OHF-Voice/wyoming).
struct WyomingEvent {
  std::string type;
  Json data = Json::object();
  std::string payload{};  // sound
};

/// As it goes over the wire: a line of JSON, the data, the payload. Ill-formed UTF-8 in a text
/// becomes U+FFFD.
std::string to_bytes(const WyomingEvent& event);

/// Parses events from bytes that come in pieces.
class WyomingParser {
 public:
  /// Of the line, and of data and payload each.
  struct Limits {
    size_t header_bytes = 16 << 10, body_bytes = 256 << 10;
  };
  explicit WyomingParser(Limits limits) : limits_(limits) {}

  void add(std::string_view bytes) { buffer_ += bytes; }
  /// nullopt: the next event is not complete. UserError if it is invalid or too large; it is then
  /// unknown where the next one begins.
  std::optional<WyomingEvent> next();

 private:
  void read_header(std::string_view line);
  size_t read_length(const Json& header, const char* key) const;

  const Limits limits_;
  std::string buffer_;
  std::optional<WyomingEvent> event_;  // whose line has come
  size_t data_length_ = 0, payload_length_ = 0;
};

}  // namespace predgen::serve
