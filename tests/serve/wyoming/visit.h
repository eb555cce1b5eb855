#pragma once

#include <optional>

#include "serve/wyoming/wyoming_client.h"
#include "tests/serve/realtime/talk.h"
#include "tests/serve/wyoming/fake_wyoming_sender.h"

namespace predgen::serve {

/// A Wyoming service in a house.
struct Service {
  explicit Service(House& house, int64_t max_conversations = 8)
      : conversations(house.host, max_conversations, /*idle_seconds=*/600),
        host{.conversations = conversations,
             .clock = house.clock,
             .make_recogniser = house.host.make_recogniser,
             .offer = {.model = "m",
                       .version = "1",
                       .voice = &house.voice,
                       .has_recogniser = house.host.offer.has_recogniser}} {}

  WyomingConversations conversations;
  WyomingHost host;
};

/// A client at it.
struct Visit {
  explicit Visit(Service& service, const std::string& peer = "")
      : served(std::in_place, service.host, client, peer) {}
  ~Visit() { leave(); }
  void leave() { served.reset(); }

  void send(const std::string& type, const Json& data = Json::object()) {
    served->take({.type = type, .data = data});
  }
  void send_sound(int milliseconds) {
    served->take({.type = "audio-chunk",
                  .data = {{"rate", 16000}, {"width", 2}, {"channels", 1}},
                  .payload = std::string(static_cast<size_t>(milliseconds) * 32, '\0')});
  }
  void say(const std::string& text, const std::string& id) {
    send("transcript", {{"text", text}, {"context", {{"conversation_id", id}}}});
  }
  /// The text of the answer, or why there is none with a question mark in front of it.
  std::string answer() {
    while (true) {
      const WyomingEvent event = client.next();
      if (event.type == "handled") return event.data["text"];
      if (event.type == "not-handled") return "?" + event.data["text"].get<std::string>();
    }
  }

  FakeWyomingSender client;
  std::optional<WyomingClient> served;
};

}  // namespace predgen::serve
