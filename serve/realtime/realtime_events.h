#pragma once

#include <optional>
#include <string>

#include "core/mutex.h"
#include "serve/http/http.h"
#include "serve/realtime/conversation_listener.h"

namespace predgen::serve {

/// Sends a conversation's events to a client, in the shapes of OpenAI's Realtime API. The only
/// place where these are made. Thread-safe; borrows both.
class RealtimeEvents : public ConversationListener {
 public:
  /// `is_beta`: to_beta() of them.
  RealtimeEvents(WebSocketSender& sender, const RealtimeOffer& offer, bool is_beta = false)
      : sender_(sender), offer_(offer), is_beta_(is_beta) {}

  void on_event(const ConversationEvent& event) override;
  /// `event_id`: of the client's event that caused it; empty: none.
  void send_error(const ApiError& error, const std::string& event_id = {});
  /// After what was sent so far. `code`: of RFC 6455.
  void close(int code, const std::string& reason) { sender_.close(code, reason); }

 private:
  WebSocketSender& sender_;
  const RealtimeOffer& offer_;
  const bool is_beta_;
  Mutex mutex_;
  std::optional<LineEncoder> encoder_ GUARDED_BY(mutex_);  // of the message under way
};

}  // namespace predgen::serve
