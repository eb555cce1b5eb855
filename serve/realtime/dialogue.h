#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "serve/new_id.h"
#include "serve/realtime/conversation_items.h"
#include "serve/realtime/conversation_listener.h"
#include "serve/realtime/realtime_host.h"
#include "serve/realtime/realtime_response.h"
#include "serve/realtime/session_inbox.h"

namespace predgen::serve {

/// A response to be begun, with what goes back with it.
struct ResponseRequest {
  RealtimeSettings settings;
  Json metadata{};
};

/// What a conversation has come to: its items, what the client wants of it, the response under way
/// and the one that waits. Changes are told with the mutex, so events come in the order of changes.
/// Thread-safe.
class Dialogue {
 public:
  /// Tells SessionCreated. UserError if the voice cannot be had. Borrows the last two.
  Dialogue(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox);

  // What the client asks, in one thread. ApiError where it cannot be done.

  RealtimeSettings settings() const;
  /// `voice`: null: as before.
  void update(RealtimeSettings settings, std::unique_ptr<SpeechSynthesizer> voice);
  /// `previous`: the item in front of it; empty: the last one.
  void add_item(ConversationItem item, const std::string& previous);
  void retrieve_item(const std::string& id);
  void delete_item(const std::string& id);
  void truncate_item(const std::string& id, int64_t milliseconds);
  void respond(ResponseRequest request);
  /// `id` empty: whatever is under way, or else waits.
  void cancel(const std::string& id);
  /// The conversation is over when no response is under way any more: the server stops.
  void end();

  // For callers that read and then act with one lock.

  Mutex& mutex() RETURNS_MUTEX(mutex_) { return mutex_; }
  /// ApiError when the server stops.
  void check_open() const REQUIRES(mutex_);
  ConversationItems& items() REQUIRES(mutex_) { return items_; }
  /// Adds an item, and tells it.
  void append(ConversationItem item, const std::string& previous = {}) REQUIRES(mutex_);
  /// The user's messages that no response answers yet.
  std::string unanswered() const REQUIRES(mutex_);
  /// A response to the user's last words: now, or after the one under way.
  void respond_to_words() REQUIRES(mutex_);
  /// One with the session's settings waits for its time.
  void queue_response() REQUIRES(mutex_) { next_response_ = {settings_}; }
  /// None begins before `change` more turns, which were committed, are understood.
  void expect_turns(int64_t change) REQUIRES(mutex_);
  void expect_no_turns() REQUIRES(mutex_) { num_expected_ = 0; }
  /// The response that waits, if its time has come.
  void begin_next_response() REQUIRES(mutex_);
  /// Whether a response is under way, or the client plays one still.
  bool is_answering(Seconds now) const REQUIRES(mutex_);
  /// The user speaks: no response goes on, and none waits.
  void give_way() REQUIRES(mutex_);

  // What comes of the session's turns.

  /// What the session is to be in the turn that begins.
  struct Plan {
    SessionInbox::Mail mail;
    RealtimeSettings settings{};
    std::string system{};
    std::optional<std::vector<Message>> history{};  // nothing: the one that it knows
  };
  Plan plan_turn();
  /// Null: none is under way.
  std::shared_ptr<RealtimeResponse> response() const;
  /// Whether the client asked for these events of ours.
  bool wants(const char* events) const;
  /// The response is over, and its answer becomes items. `ids`: of the message.
  void finish(const ResponseEnd& end, const TokenIds& ids);
  /// After a turn that was stopped.
  void clear_up();
  /// The response has failed, or the draft.
  void fail(const ApiError& error);
  /// Whatever is under way ends before its next pass.
  void stop();

 private:
  /// The session is to know more than it does; a draft begins anew with that.
  void change() REQUIRES(mutex_) { inbox_.change(/*stops_turn=*/!response_); }
  void change_history() REQUIRES(mutex_);
  ResponseInfo info(const ResponseRequest& request) const REQUIRES(mutex_);
  void begin_response(const ResponseRequest& request) REQUIRES(mutex_);
  void interrupt(ResponseStatus reason) REQUIRES(mutex_);
  void finish_response(const ResponseEnd& end, const TokenIds& ids = {}) REQUIRES(mutex_);

  ConversationListener& listener_;
  SessionInbox& inbox_;
  const std::string id_ = new_id("sess_"), conversation_id_ = new_id("conv_");

  mutable Mutex mutex_;
  RealtimeSettings settings_ GUARDED_BY(mutex_);
  ConversationItems items_ GUARDED_BY(mutex_);
  std::shared_ptr<RealtimeResponse> response_ GUARDED_BY(mutex_);  // under way; null: none
  std::optional<int64_t> truncation_ GUARDED_BY(mutex_);           // of its item, in milliseconds
  std::optional<ResponseStatus> stopped_ GUARDED_BY(mutex_);       // why the turn was
  Seconds heard_until_ GUARDED_BY(mutex_){0};                      // the last response, if it is
  std::optional<ResponseRequest> next_response_ GUARDED_BY(mutex_);
  int64_t num_expected_ GUARDED_BY(mutex_) = 0;  // turns that were committed
  bool is_ending_ GUARDED_BY(mutex_) = false;
  GaugeShare is_answering_ GUARDED_BY(mutex_);  // for the metrics
};

}  // namespace predgen::serve
