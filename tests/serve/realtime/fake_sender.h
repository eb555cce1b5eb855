#pragma once

#include <stdexcept>
#include <string>

#include "core/json.h"
#include "serve/http/http.h"
#include "tests/serve/received_events.h"

namespace predgen::serve {

inline std::string type_of_event(const Json& event) { return event["type"]; }

/// Keeps the events that a client is sent.
class FakeSender : public WebSocketSender, public ReceivedEvents<Json, type_of_event> {
 public:
  void send(std::string text) override { push(Json::parse(text)); }
  void close(int code, const std::string&) override {
    send(R"({"type":"closed","code":)" + std::to_string(code) + "}");
  }

  using ReceivedEvents::next;
  /// The next event of this type; those in front of it are skipped.
  Json next(const std::string& type) {
    for (size_t count = 0; count < 10000; ++count) {
      Json event = next();
      if (event["type"] == type) return event;
    }
    throw std::runtime_error("no event " + type);
  }
};

}  // namespace predgen::serve
