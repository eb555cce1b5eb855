#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "core/helper_process.h"
#include "serve/http/tcp_server.h"
#include "serve/wyoming/wyoming_host.h"

namespace predgen::serve {

/// A Wyoming service: speech to text, conversations and a voice for Home Assistant.
class WyomingServer {
 public:
  /// Listens from now on. `realtime` is borrowed; its recogniser and voice are the service's own,
  /// conversations take and answer text. UserError as HttpServer.
  WyomingServer(const WyomingConfig& config, const HttpLimits& limits, const RealtimeHost& realtime,
                const std::string& version);

  int port() const { return server_.port(); }
  /// As HttpServer::run().
  void run(const std::stop_token& stop) { server_.run(stop); }

 private:
  const RealtimeHost silent_;
  std::optional<SpokenAhead> ahead_;
  WyomingConversations conversations_;
  std::optional<WyomingConversation> first_;  // reads now what all of them begin with
  const WyomingHost host_;
  TcpServer server_;  // last: its connections use them
};

/// Tells the local network of a Wyoming service by zeroconf, as long as it exists: Home Assistant
/// then offers it. Avahi's own program does that, avahi-publish-service, which waits for Avahi
/// where that does not run.
class Announcement {
 public:
  /// `name`: that people are shown.
  Announcement(const std::string& name, int port);

  /// False: the program is not there.
  bool is_made() const { return is_made_; }

 private:
  HelperProcess process_;
  bool is_made_;
};

}  // namespace predgen::serve
