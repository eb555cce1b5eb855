#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "serve/realtime/realtime_conversation.h"
#include "serve/wyoming/wyoming_sender.h"

namespace predgen::serve {

/// A conversation whose turns come over connections of their own: a RealtimeConversation that
/// answers by `handled` and its stream, or by `not-handled`. Thread-safe; borrows the host.
class WyomingConversation {
 public:
  /// `host` has no voice. `peer`: whose it is, by its address.
  explicit WyomingConversation(const RealtimeHost& host, std::string peer = {})
      : conversation_(host, events_, std::move(peer)) {}

  /// Whoever takes a turn: where the answer goes, and what goes back with it.
  struct Client {
    WyomingSender* sender = nullptr;
    std::string peer{};  // its address
    Json context{};
    // Before and after the last events of a turn. They must not call the conversation.
    std::function<void()> on_end{}, on_done{};
  };
  /// A turn begins. False: another one is under way.
  bool enter(Client client);
  /// What was said so far; a final one begins the answer. ApiError if there can be none.
  void hear(const TranscriptLine& line);
  /// If the turn is still this client's, which is returned, it ends before its next pass, and
  /// nothing more of it is sent or called.
  bool leave(const WyomingSender& sender);

  /// Whether no turn is under way.
  bool is_free() const;
  /// It will never answer again.
  bool is_broken() const;

 private:
  struct Events : EventSender {
    explicit Events(WyomingConversation& conversation) : of(conversation) {}
    void send(const char* type, const Json& fields) const override { of.take(type, fields); }
    void send_error(const ApiError&, const std::string&) const override {}  // the log has it
    void close(int, const std::string&) const override { of.fail(); }
    WyomingConversation& of;
  };
  void take(std::string_view type, const Json& fields);
  void fail();
  /// With the mutex, as the next one.
  void add_text(const std::string& text);
  /// `error`: why there is no answer; empty: there is one.
  void finish(const std::string& error);

  const Events events_{*this};
  mutable std::mutex mutex_;  // guards what follows but the last
  std::condition_variable answer_ended_;
  Client client_;     // without a sender: nobody
  std::string text_;  // of the answer so far
  bool is_taken_ = false, has_begun_ = false, is_answering_ = false, is_broken_ = false;
  RealtimeConversation conversation_;
};

}  // namespace predgen::serve
