#pragma once

#include <cstdint>
#include <string>

#include "serve/http/http.h"
#include "serve/realtime/realtime_host.h"
#include "serve/slots.h"

namespace predgen::serve {

/// GET /v1/realtime. Thread-safe; borrows the host.
class RealtimeApi {
 public:
  RealtimeApi(const RealtimeHost& host, int64_t max_sessions)
      : host_(host), sessions_(max_sessions) {}

  /// Returns when the conversation is over. ApiError for a request that wants no WebSocket, or
  /// another model; too many sessions are reported by an event. `client`: who sends it.
  void serve(const HttpRequest& request, const std::string& client, HttpReply& reply);

  const RealtimeHost& host() const { return host_; }
  int64_t max_sessions() const { return sessions_.max(); }
  int64_t num_sessions() const { return sessions_.num_taken(); }

 private:
  const RealtimeHost& host_;
  Slots sessions_;
};

/// "Bearer KEY" for a key among the protocols that a WebSocket client offers, the only place where
/// a browser can put one ("openai-insecure-api-key.KEY"); empty: there is none.
std::string offered_key(const std::string& protocols);

}  // namespace predgen::serve
