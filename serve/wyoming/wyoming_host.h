#pragma once

#include <string>

#include "serve/serve_config.h"
#include "serve/wyoming/wyoming_conversations.h"
#include "serve/wyoming/wyoming_voice.h"

namespace predgen::serve {

/// What a Wyoming service has for its clients.
struct WyomingOffer {
  std::string model;       // its name
  std::string version;     // of this program
  std::string voice;       // the one that speaks if nobody asks for another; empty: none at all
  std::string language{};  // the voice's
};

/// What all connections of a Wyoming service have in common. The conversations are borrowed.
struct WyomingHost {
  WyomingConversations& conversations;
  WyomingOffer offer;
  /// UserError for a voice that does not exist. Called by any thread.
  WyomingVoice::MakeVoice make_voice;
  HttpLimits limits{};
};

/// The answer to `describe`.
WyomingEvent info_event(const WyomingOffer& offer);

}  // namespace predgen::serve
