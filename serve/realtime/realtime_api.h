#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hear/transcripts/transcript_reader.h"
#include "serve/http/http.h"
#include "serve/realtime/realtime_conversation.h"
#include "serve/realtime/realtime_events.h"
#include "serve/realtime/realtime_host.h"
#include "serve/slots.h"

namespace predgen::serve {

/// Reads a client's events and carries them out; what cannot be done is answered with an error
/// event that names the event's id. Borrows the host.
class RealtimeConnection : public WebSocketHandler {
 public:
  /// `refused`: why there is no conversation; nullopt: there is one. `client`: who it belongs to.
  /// `is_beta`: it gets the events of the API's beta.
  RealtimeConnection(const RealtimeHost& host, std::optional<ApiError> refused,
                     std::string client = {}, bool is_beta = false)
      : host_(host), refused_(std::move(refused)), client_(std::move(client)), is_beta_(is_beta) {}

  void on_open(WebSocketSender& sender) override;
  void on_text(std::string_view message) override;
  void on_binary() override;
  void on_drain() override;
  void on_expiry(const std::string& why) override;
  void on_close() override;

 private:
  void handle(const Json& event);
  /// Whether it is a message of a speech service; its words are then heard.
  bool hear(const Json& event);

  const RealtimeHost& host_;
  const std::optional<ApiError> refused_;
  const std::string client_;
  const bool is_beta_;
  std::optional<RealtimeEvents> events_;
  std::unique_ptr<RealtimeConversation> conversation_;
  TranscriptMessages messages_;
};

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
