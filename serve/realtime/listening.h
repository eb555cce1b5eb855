#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "hear/transcripts/transcript_lines.h"
#include "hear/turn_recogniser.h"
#include "hear/turn_taking.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/line_format.h"

namespace predgen::serve {

/// What the user's words and sound do to a dialogue. Words come from the client's thread or from
/// the recogniser's; whatever they change is changed with the dialogue's mutex, which is locked
/// after that of the sound. Sound comes, and its format changes, in the client's thread.
class Listening : private RecognisedTurnHandler {
 public:
  /// Borrows all.
  Listening(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox,
            Dialogue& dialogue);

  // Requests of the client, in one thread. ApiError if one cannot be done.

  /// What was said so far; a final line begins the response, after the one in progress. All words
  /// come here, however they were sent, and a turn of more than kMaxTurnBytes goes no further.
  void hear(const TranscriptLine& line);
  /// How sound comes, and how turns end in it.
  void use(const RealtimeSettings& settings);
  /// As TurnRecogniser::expect_end(), with all words of the user. Any thread.
  void expect_end(const std::string& words, double probability);
  /// ApiError without a recogniser, or when the server stops; the next three do that, too.
  void expect_sound();
  /// Any number of bytes in that format, in base64. ApiError for anything else.
  void append_sound(const std::string& base64);
  /// The turn's item follows when it is understood, and so does a response requested before that.
  /// ApiError if there is no sound, or it was lost.
  void commit_sound();
  /// Forgets the turn in progress.
  void clear_sound();

 private:
  void on_speech(int64_t number, int64_t milliseconds) override;
  void on_words(const std::string& words) override;
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;

  void on_pause(const std::string& words);
  /// Words of more than kMaxTurnBytes are dropped, and refused.
  void check_length(const TranscriptLine& line) REQUIRES(dialogue_.mutex());
  void add_spoken(const SpokenTurn& turn) REQUIRES(dialogue_.mutex());
  /// Notes that a turn has begun, if these words begin one: a backchannel during an answer does
  /// not.
  void note_speech(const std::string& words) REQUIRES(dialogue_.mutex());
  /// Whether what was said is not a turn, and not to be reported.
  bool is_no_turn(const SpokenTurn& turn) REQUIRES(dialogue_.mutex());
  /// All words of the turn are taken back.
  void take_back() REQUIRES(dialogue_.mutex());
  void forget_speech() REQUIRES(dialogue_.mutex());

  /// The turn whose beginning was reported last.
  struct Item {
    int64_t turn;
    std::string id;
  };
  /// First words of a turn.
  struct Speech {
    SpeechStarted started;
    bool interrupts = false;
    bool is_told = false;  // but taken back since
  };

  ConversationListener& listener_;
  SessionInbox& inbox_;
  Dialogue& dialogue_;
  RevisionFilter filter_ GUARDED_BY(dialogue_.mutex());
  GaugeShare is_speaking_ GUARDED_BY(dialogue_.mutex());  // for the metrics
  const Clock& clock_;
  TurnTaking taking_ GUARDED_BY(dialogue_.mutex());
  std::optional<Speech> speech_ GUARDED_BY(dialogue_.mutex());  // that has not interrupted yet
  std::optional<Speech> told_ GUARDED_BY(dialogue_.mutex());    // of the turn under way
  std::optional<LineDecoder> decoder_{LineFormat()};
  std::atomic<bool> creates_response_ = true, interrupts_response_ = true;
  std::optional<Item> item_;             // used by handler calls, one at a time
  std::optional<TurnRecogniser> turns_;  // nullopt: no recogniser; last: its threads use the others
};

}  // namespace predgen::serve
