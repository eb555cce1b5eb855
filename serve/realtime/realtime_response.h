#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "serve/realtime/conversation_items.h"
#include "serve/realtime/event_sender.h"
#include "serve/realtime/realtime_settings.h"

namespace predgen::serve {

/// One response on its way to a client: its events in their order. Text and sound may come from
/// different threads. Borrows the sender.
class RealtimeResponse {
 public:
  /// Sends response.created. `previous`: the conversation's last item.
  RealtimeResponse(const EventSender& events, const RealtimeSettings& settings, Json metadata,
                   const std::string& conversation, const std::string& previous);

  const std::string& id() const { return id_; }
  const std::string& previous() const { return previous_; }
  const RealtimeSettings& settings() const { return settings_; }

  void add_text(const std::string& text);
  /// At kRealtimeRate; after the text that it says.
  void add_sound(std::span<const float> samples);

  struct Usage {
    int64_t input_tokens = 0, output_tokens = 0;
  };
  struct End {
    std::string status = "completed";  // "cancelled", "incomplete" or "failed"
    Json details{};                    // null where it is completed
    Usage usage{};
    std::vector<ToolCall> calls{};  // with ids
  };
  /// The last events. Returns the answer: a message, if there is one, and its calls.
  std::vector<ConversationItem> finish(const End& end);
  /// The answer so far; after finish(): all of it.
  ConversationItem item() const;

 private:
  Json json(const std::string& status) const;
  Json place() const;
  Json part(const std::string& text) const;
  void begin_item();
  /// Of the message.
  void finish_item(const End& end);
  void send_call(const ConversationItem& item, size_t index, const std::string& previous) const;

  const EventSender& events_;
  const RealtimeSettings settings_;
  const Json metadata_;
  const std::string id_, conversation_, previous_;

  mutable std::mutex mutex_;  // guards what follows, and the order of events
  ConversationItem item_;
  bool has_item_ = false;
};

}  // namespace predgen::serve
