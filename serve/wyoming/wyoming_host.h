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
};

/// What all connections of a Wyoming service have in common. The conversations are borrowed.
struct WyomingHost {
  WyomingConversations& conversations;
  WyomingOffer offer;
  HttpLimits limits{};
};

/// The answer to `describe`.
WyomingEvent info_event(const WyomingOffer& offer);

}  // namespace predgen::serve
