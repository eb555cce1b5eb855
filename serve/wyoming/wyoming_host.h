#pragma once

#include <string>

#include "serve/serve_config.h"
#include "serve/wyoming/wyoming_conversations.h"
#include "serve/wyoming/wyoming_voice.h"

namespace predgen::serve {

/// What a Wyoming service offers its clients.
struct WyomingOffer {
  std::string model;             // its name
  std::string version;           // of this program
  const Voice* voice = nullptr;  // borrowed; null: none
  bool has_recogniser = false;
  bool has_tools = false;       // that its conversations call
  std::string language = "en";  // that is heard and answered
};

/// What all connections of a Wyoming service have in common. Conversations, clock and recogniser
/// are borrowed.
struct WyomingHost {
  WyomingConversations& conversations;
  Clock& clock;
  const MakeRecogniser& make_recogniser;
  WyomingOffer offer;
  SpokenAhead* ahead = nullptr;  // of the offered voice, borrowed; null: there is none
  HttpLimits limits{};
};

/// The answer to `describe`.
WyomingEvent info_event(const WyomingOffer& offer);

}  // namespace predgen::serve
