#include "serve/wyoming/wyoming_server.h"

#include <span>
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

namespace {

/// Ends with its stdin, which the program itself does not read.
constexpr const char* kScript = R"(
command -v avahi-publish-service >/dev/null || exit
avahi-publish-service --no-fail "$1" _wyoming._tcp "$2" >/dev/null 2>&1 &
echo
read -r end
kill $!
)";

}  // namespace

Announcement::Announcement(const std::string& name, int port)
    : process_("/bin/sh", {.arguments = {"-c", kScript, "", name, std::to_string(port)}}) {
  char line = 0;
  is_made_ = process_.receive(std::span(&line, 1), Seconds(5));
}

}  // namespace predgen::serve
