#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/serve/http.h"
#include "runtime/serve/realtime/realtime_host.h"

namespace predgen {

/// GET /v1/realtime. Thread-safe; borrows the host.
class RealtimeApi {
 public:
  RealtimeApi(const RealtimeHost& host, int64_t max_sessions)
      : host_(host), max_sessions_(max_sessions) {}

  /// Returns when the conversation is over. ApiError for a request that wants no WebSocket, or
  /// another model; too many sessions are told by an event. `client`: whose it is.
  void serve(const HttpRequest& request, const std::string& client, HttpReply& reply);

  const RealtimeHost& host() const { return host_; }
  int64_t max_sessions() const { return max_sessions_; }
  int64_t num_sessions() const { return num_sessions_; }

 private:
  const RealtimeHost& host_;
  const int64_t max_sessions_;
  std::atomic<int64_t> num_sessions_ = 0;
};

/// "Bearer KEY" for a key among the protocols that a WebSocket's client offers, which is the only
/// place that a browser has for it ("openai-insecure-api-key.KEY"); empty: there is none.
std::string offered_key(const std::string& protocols);

}  // namespace predgen
