#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hear/transcripts/transcript_messages.h"
#include "serve/realtime/realtime_conversation.h"
#include "serve/realtime/realtime_events.h"

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

}  // namespace predgen::serve
