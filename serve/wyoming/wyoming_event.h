#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "audio/resampler.h"
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

/// A client's sound as a recogniser takes it: mono, in [-1,1], at kRecogniserRate.
class WyomingSound {
 public:
  /// Sound begins in this `format`, the data of an audio-start or audio-chunk. UserError for sound
  /// that is not 16 bits of one or two channels at a common rate; then nothing begins.
  void begin(const Json& format, const std::string& event);
  /// Of the next bytes; its last samples may wait for what follows.
  std::vector<float> add(const std::string& pcm);
  /// The rest.
  std::vector<float> finish();

 private:
  int rate_ = 0, channels_ = 1;
  std::optional<Resampler> resampler_;  // nullopt: it has the recogniser's rate
};

}  // namespace predgen::serve
