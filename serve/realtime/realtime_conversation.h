#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "hear/transcripts/transcript_lines.h"
#include "runtime/converse/conversation.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/line_format.h"
#include "serve/realtime/turn_loop.h"

namespace predgen::serve {

/// What the user's words and sound do to a dialogue. Words come from the client's thread or from
/// the recogniser's; whatever they change is changed with the dialogue's mutex, which is locked
/// after that of the recogniser and before that of the conversation. Sound comes, and its format
/// changes, in the client's thread.
class DialogueInput {
 public:
  /// Borrows all.
  DialogueInput(const RealtimeHost& host, ConversationListener& listener,
                Conversation& conversation, Dialogue& dialogue);

  // Requests of the client, in one thread. ApiError if one cannot be done.

  /// What was said so far; a final line begins the response, after the one in progress. All words
  /// come here, however they were sent, and a turn of more than kMaxTurnBytes goes no further.
  void hear(const TranscriptLine& line);
  /// How sound comes, and how turns end in it.
  void use(const RealtimeSettings& settings);
  /// ApiError without a recogniser, or when the server stops; the next four do that, too.
  void expect_sound();
  /// Any number of bytes in that format, in base64. ApiError for anything else.
  void append_sound(const std::string& base64);
  /// The same, mono in [-1,1], at the conversation's rate.
  void add_sound(std::span<const float> samples);
  /// The turn's item follows when it is understood, and so does a response requested before that.
  /// ApiError if there is no sound, or it was lost.
  void commit_sound();
  /// Forgets the turn in progress.
  void clear_sound();

  // What is heard in sound. Any thread, one call at a time.

  void take(const SpeechBegun& speech);
  void take(const WordsHeard& heard);
  void take(const TurnHeard& heard);
  void take(const SpeechLost& lost);

 private:
  /// Words of more than kMaxTurnBytes are dropped, and refused.
  void check_length(const TranscriptLine& line) REQUIRES(dialogue_.mutex());
  void add_spoken(const SpokenTurn& turn) REQUIRES(dialogue_.mutex());

  /// The turn whose beginning was reported last.
  struct Item {
    int64_t turn;
    std::string id;
  };

  ConversationListener& listener_;
  Conversation& conversation_;
  Dialogue& dialogue_;
  RevisionFilter filter_ GUARDED_BY(dialogue_.mutex());
  GaugeShare is_speaking_ GUARDED_BY(dialogue_.mutex());  // for the metrics
  std::optional<LineDecoder> decoder_{LineFormat()};
  std::atomic<bool> creates_response_ = true, interrupts_response_ = true;
  std::optional<Item> item_;  // used by take(), one call at a time
};

/// A client's conversation: one that it steers itself, with a dialogue of items and settings, and
/// the thread that answers. Used by one thread, except for words from a recogniser. Lock order: the
/// recogniser's, the dialogue's, the conversation's or a response's, the speaker's. A stop callback
/// must not call the dialogue.
class RealtimeConversation : private predgen::ConversationListener {
 public:
  /// `client`: for the engine lock; empty: a client of its own. `sample_rate`: of the sound that
  /// comes, in Hz. UserError if the voice is not available. Borrows both.
  RealtimeConversation(const RealtimeHost& host, serve::ConversationListener& listener,
                       std::string client = {}, int sample_rate = kRealtimeRate);
  ~RealtimeConversation() override;
  RealtimeConversation(const RealtimeConversation&) = delete;
  RealtimeConversation& operator=(const RealtimeConversation&) = delete;

  const RealtimeOffer& offer() const { return host_.offer; }
  Dialogue& dialogue() { return dialogue_; }
  DialogueInput& input() { return input_; }
  /// Reports what is refused, a voice that is not available too, and then the settings as they are.
  /// `event_id`: of the client's event.
  void update(RealtimeSettings settings, Refusals refusals, const std::string& event_id);
  /// Reports what is refused, if anything is.
  void report(const Refusals& refusals, const std::string& event_id);

 private:
  void on_event(const predgen::ConversationEvent& event) override;

  const RealtimeHost& host_;
  serve::ConversationListener& listener_;
  Dialogue dialogue_;
  TurnLoop loop_;
  DialogueInput input_;
  Conversation conversation_;  // its threads use those before
  std::jthread thread_;        // last: it uses all of them
};

}  // namespace predgen::serve
