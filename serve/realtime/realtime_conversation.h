#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "runtime/listen/heard_source.h"
#include "runtime/listen/transcript_lines.h"
#include "runtime/speech/resting_speaker.h"
#include "serve/new_id.h"
#include "serve/realtime/conversation_items.h"
#include "serve/realtime/draft_events.h"
#include "serve/realtime/event_sender.h"
#include "serve/realtime/realtime_host.h"
#include "serve/realtime/realtime_response.h"
#include "serve/realtime/sound_in.h"

namespace predgen::serve {

/// A client's conversation: a Session in a thread of its own, which shares the engine with others,
/// fed by what the client asks. What is asked throws an ApiError where it cannot be done. Of a
/// draft nothing is sent before it is committed, unless the client wants such events. Used by one
/// thread; what is heard comes from another one.
class RealtimeConversation : private SpeechListener {
 public:
  /// Sends session.created. `client`: whose it is, for the baton; empty: nobody else's. UserError
  /// if the voice cannot be had. Borrows both.
  RealtimeConversation(const RealtimeHost& host, const EventSender& events,
                       std::string client = {});
  /// Ends what is under way before its next pass.
  ~RealtimeConversation() override;

  /// `session` as in session.update, which says what came of it.
  void update(const Json& session);
  /// `previous`: the item in front of it; empty: the last one.
  void add_item(const Json& item, const std::string& previous);
  void send_item(const std::string& id);
  void delete_item(const std::string& id);
  void truncate_item(const std::string& id, int64_t milliseconds);
  /// What was said so far; a final one begins the response, after the one that is under way. All
  /// words come here, however they were sent, and none of more than kMaxTurnBytes goes on.
  void hear(const TranscriptLine& line);
  /// ApiError without a recogniser, or when the server stops.
  SoundIn& sound();
  /// The turn's item comes when it is understood; a response that is asked for until then, too.
  void commit_sound();
  void clear_sound();
  /// `response` as in response.create, null if there is none.
  void respond(const Json& response);
  /// `id` empty: whatever is under way, or else waits for sound to be understood.
  void cancel(const std::string& id);
  /// Closes the connection when no response is under way any more, with this reason.
  void end(int code, const std::string& reason);

 private:
  /// The session's thread.
  void work(const std::stop_token& stop);
  /// False: the conversation is over.
  bool wait_for_work(const std::stop_token& stop);
  /// Makes the session what the client wants by now.
  void prepare(Session& session, RestingSpeaker& speaker);
  void use_voice(std::unique_ptr<SpeechSynthesizer> voice, RestingSpeaker& speaker);
  void run_turn(Session& session);
  TurnObserver observer();

  void on_speech(const std::string& item, int64_t milliseconds, bool interrupts) override;
  void on_words(const std::string& words) override;
  void on_turn(const SpokenTurn& turn) override;
  void on_lost(const ApiError& error) override;

  /// With the mutex, as the next nine.
  ApiError stopping() const;
  /// Words of more than kMaxTurnBytes are forgotten, and refused.
  void check_length(const TranscriptLine& line);
  void interrupt(const char* reason);
  void add_spoken(const SpokenTurn& turn);
  /// The response that waits, if its time has come.
  void begin_next_response();
  void begin_response(const RealtimeSettings& settings, const Json& metadata);
  /// The answer becomes an item.
  void finish_response(const RealtimeResponse::End& end, const TokenIds& ids = {});
  const ConversationItem& append(ConversationItem item, const std::string& previous = {});
  void announce(const ConversationItem& added);
  /// The session is to know more than it does; a draft begins anew with that.
  void change();

  void finish_turn(const Session& session, const TurnResult& result);
  void send_metrics(const TurnResult& result);
  /// After a turn that was stopped.
  void clear_up();
  void fail(const ApiError& error);
  std::shared_ptr<RealtimeResponse> response() const;
  bool wants(const char* events) const;

  const RealtimeHost& host_;
  const EventSender& events_;
  const std::string client_;
  const std::string id_ = new_id("sess_"), conversation_id_ = new_id("conv_");
  HeardSource source_;

  mutable std::mutex mutex_;  // guards what follows, and the order of events
  std::condition_variable_any changed_;
  RealtimeSettings settings_;
  ConversationItems items_;
  RevisionFilter filter_;
  std::unique_ptr<SpeechSynthesizer> new_voice_;  // for the session
  std::shared_ptr<RealtimeResponse> response_;    // under way; null: none
  std::optional<int64_t> truncation_;             // of its item, in milliseconds
  std::stop_source turn_stop_;
  bool is_cancelled_ = false;  // the response; turn_stop_ says so to the session
  const char* cancel_reason_ = "";
  struct NextResponse {
    RealtimeSettings settings;
    Json metadata;
  };
  std::optional<NextResponse> next_response_;  // waits for commits, or the end of another one
  int64_t num_commits_ = 0;                    // of sound, that are not understood yet
  bool has_changed_ = true, has_new_history_ = false;  // what the session does not know
  bool is_blocked_ = false;  // the session failed without a response: words alone change nothing
  int end_code_ = 0;         // 0: goes on
  std::string end_reason_;

  GaugeShare is_speaking_, is_answering_;  // for the metrics

  DraftEvents drafts_;              // the session's thread only
  std::jthread thread_;             // it uses all of them
  std::unique_ptr<SoundIn> sound_;  // null: no recogniser; last: its threads use the others
};

}  // namespace predgen::serve
