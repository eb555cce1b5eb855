#include "serve/wyoming/wyoming_server.h"

#include <utility>

#include "serve/wyoming/wyoming_client.h"
#include "serve/wyoming/wyoming_connection.h"

namespace predgen::serve {
namespace {

RealtimeHost without_sound(RealtimeHost host) {
  host.offer.voice = nullptr;
  host.offer.has_recogniser = false;
  host.make_recogniser = nullptr;
  return host;
}

}  // namespace

WyomingServer::WyomingServer(const WyomingConfig& config, const HttpLimits& limits,
                             const RealtimeHost& realtime, const std::string& version)
    : silent_(without_sound(realtime)),
      ahead_(realtime.offer.voice ? std::optional<SpokenAhead>(std::in_place, *realtime.offer.voice)
                                  : std::nullopt),
      conversations_(silent_, config.max_conversations, limits.silence_seconds),
      host_{.conversations = conversations_,
            .clock = realtime.clock,
            .make_recogniser = realtime.make_recogniser,
            .offer = {.model = realtime.offer.model,
                      .version = version,
                      .voice = realtime.offer.voice,
                      .has_recogniser = realtime.offer.has_recogniser,
                      .has_tools = realtime.tools != nullptr && realtime.tools->may_use(""),
                      .language = realtime.offer.language.empty() ? "en" : realtime.offer.language},
            .ahead = ahead_ ? &*ahead_ : nullptr,
            .limits = limits},
      server_(config.host, static_cast<int>(config.port),
              {.connections = config.connections,
               .connections_per_address = share_of_address(config.connections),
               .grace_seconds = limits.grace_seconds},
              [this] {
                return std::make_unique<WyomingConnection>(
                    host_.limits, [this](WyomingSender& sender, std::string peer) {
                      return std::make_unique<WyomingClient>(host_, sender, std::move(peer));
                    });
              }) {
  if (silent_.openings) first_.emplace(silent_);
}

}  // namespace predgen::serve
