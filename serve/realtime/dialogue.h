#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "runtime/converse/conversation.h"
#include "serve/new_id.h"
#include "serve/realtime/conversation_items.h"
#include "serve/realtime/conversation_listener.h"
#include "serve/realtime/realtime_host.h"
#include "serve/realtime/realtime_response.h"
#include "voice/voice.h"

namespace predgen::serve {

/// A response to begin, with the metadata that goes back with it.
struct ResponseRequest {
  RealtimeSettings settings;
  Json metadata{};
  bool answers_words = false;  // of a turn that is not understood yet; else it may have none
  bool is_again = false;       // begins only if messages still wait for an answer
};

/// The state of a conversation: its items, the client's settings, the response in progress and the
/// one that waits. Changes are reported with the mutex held, so events come in order of the
/// changes. Thread-safe.
class Dialogue {
 public:
  /// Sends SessionCreated. UserError if the voice is not available. Borrows the last two.
  Dialogue(const RealtimeHost& host, ConversationListener& listener, Conversation& conversation);

  // Requests of the client, in one thread. ApiError if one cannot be done.

  RealtimeSettings settings() const;
  /// `voice`: null: unchanged.
  void update(RealtimeSettings settings, std::unique_ptr<SpeechSynthesizer> voice);
  /// `previous`: the item before it; empty: the last one.
  void add_item(ConversationItem item, const std::string& previous);
  void retrieve_item(const std::string& id);
  void delete_item(const std::string& id);
  void truncate_item(const std::string& id, int64_t milliseconds);
  void respond(ResponseRequest request);
  /// `id` empty: the response in progress, or else the one that waits.
  void cancel(const std::string& id);
  /// The server stops: the conversation is over once no response is in progress.
  void end();

  // For callers that read and then act with one lock.

  Mutex& mutex() RETURNS_MUTEX(mutex_) { return mutex_; }
  /// ApiError when the server stops.
  void check_open() const REQUIRES(mutex_);
  ConversationItems& items() REQUIRES(mutex_) { return items_; }
  /// Adds an item, and reports it.
  void append(ConversationItem item, const std::string& previous = {}) REQUIRES(mutex_);
  /// The user's messages that no response answers yet.
  std::string unanswered() const REQUIRES(mutex_);
  /// A response to the user's last words: now, or after the one under way.
  void respond_to_words() REQUIRES(mutex_);
  /// A response with the session's settings waits for its time.
  void queue_response() REQUIRES(mutex_) { next_response_ = {settings_, {}, true}; }
  /// What the user said over an answer came to nothing: if nothing of the answer was heard, its
  /// question is answered again.
  void ask_again() REQUIRES(mutex_);
  /// No response begins before `change` more committed turns are understood.
  void expect_turns(int64_t change) REQUIRES(mutex_);
  void expect_no_turns() REQUIRES(mutex_) { num_expected_ = 0; }
  /// The response that waits, if its time has come.
  void begin_next_response() REQUIRES(mutex_);
  /// The user speaks: no response goes on, and none waits.
  void give_way() REQUIRES(mutex_);

  // Results of the session's turns.

  /// How the session is set up for the turn that begins.
  struct Plan {
    std::stop_token stop{};
    std::unique_ptr<SpeechSynthesizer> voice{};  // null: unchanged
    RealtimeSettings settings{};
    std::string system{};
    std::optional<std::vector<Message>> history{};  // nullopt: the one it has
  };
  Plan plan_turn();
  /// Takes back a voice that could not be used, unless there is a newer one.
  void return_voice(std::unique_ptr<SpeechSynthesizer> voice);
  /// Null: none is in progress.
  std::shared_ptr<RealtimeResponse> response() const;
  /// Whether the client asked for these events of ours.
  bool wants(const char* events) const;
  /// The response is over, and its answer becomes items. `ids`: of the message.
  void finish(const ResponseEnd& end, const TokenIds& ids);
  /// After a turn that was stopped. `rounds`: ConversationItem::rounds.
  void clear_up(std::vector<Message> rounds = {});
  /// The response has failed, or the draft.
  void fail(const ApiError& error, std::vector<Message> rounds = {});
  /// Work in progress ends before its next pass.
  void stop();

 private:
  /// The session has something new to take in; a draft is restarted with it.
  void change() REQUIRES(mutex_) { conversation_.change(/*stops_turn=*/!response_); }
  /// The conversation is to know that a response is in progress, or the client is playing one.
  void tell_answering() REQUIRES(mutex_);
  void change_history() REQUIRES(mutex_);
  ResponseInfo info(const ResponseRequest& request) const REQUIRES(mutex_);
  void begin_response(const ResponseRequest& request) REQUIRES(mutex_);
  void interrupt(ResponseStatus reason) REQUIRES(mutex_);
  void finish_response(const ResponseEnd& end, const TokenIds& ids = {}) REQUIRES(mutex_);

  ConversationListener& listener_;
  Conversation& conversation_;
  const std::string id_ = new_id("sess_"), conversation_id_ = new_id("conv_");

  mutable Mutex mutex_;
  RealtimeSettings settings_ GUARDED_BY(mutex_);
  ConversationItems items_ GUARDED_BY(mutex_);
  std::shared_ptr<RealtimeResponse> response_ GUARDED_BY(mutex_);  // under way; null: none
  std::optional<int64_t> truncation_ GUARDED_BY(mutex_);           // of its item, in milliseconds
  std::unique_ptr<SpeechSynthesizer> voice_ GUARDED_BY(mutex_);    // that the session is to take
  bool has_new_history_ GUARDED_BY(mutex_) = false;                // that it is to take, too
  bool is_unasked_ GUARDED_BY(mutex_) = false;                     // the response: no user's words
  std::optional<ResponseStatus> stopped_ GUARDED_BY(mutex_);       // why the turn was
  Seconds heard_until_ GUARDED_BY(mutex_){0};                      // the last response, if it is
  std::optional<ResponseRequest> next_response_ GUARDED_BY(mutex_);
  bool is_owed_ GUARDED_BY(mutex_) = false;      // an answer, which the user's words ended
  int64_t num_expected_ GUARDED_BY(mutex_) = 0;  // turns that were committed
  bool is_ending_ GUARDED_BY(mutex_) = false;
  GaugeShare is_answering_ GUARDED_BY(mutex_);  // for the metrics
};

}  // namespace predgen::serve
