#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/listen/transcript_lines.h"
#include "runtime/listen/turn_taking.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/sound_in.h"

namespace predgen::serve {

/// What the user's words and sound do to a dialogue. Words come from the client's thread or from
/// the recogniser's; whatever they change is changed with the dialogue's mutex, which is locked
/// after that of the sound.
class Listening : private SpeechListener {
 public:
  /// Borrows all.
  Listening(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox,
            Dialogue& dialogue);

  // What the client asks, in one thread. ApiError where it cannot be done.

  /// What was said so far; a final one begins the response, after the one that is under way. All
  /// words come here, however they were sent, and none of more than kMaxTurnBytes goes on.
  void hear(const TranscriptLine& line);
  void detect_turns(const TurnDetection& detection);
  /// What all words of the user say about the end: TurnRecogniser::expect_end(). By any thread.
  void expect_end(const std::string& words, double probability);
  /// ApiError without a recogniser, or when the server stops.
  SoundIn& sound();
  /// The turn's item comes when it is understood; a response that is asked for until then, too.
  void commit_sound();
  void clear_sound();

 private:
  void on_speech(const std::string& item, int64_t milliseconds, bool interrupts) override;
  void on_words(const std::string& words) override;
  void on_turn(const SpokenTurn& turn) override;
  void on_lost(const ApiError& error) override;

  /// Words of more than kMaxTurnBytes are forgotten, and refused.
  void check_length(const TranscriptLine& line) REQUIRES(dialogue_.mutex());
  void add_spoken(const SpokenTurn& turn) REQUIRES(dialogue_.mutex());
  /// A turn has begun, if these are words of one: not what a listener says while an answer is
  /// heard.
  void note_speech(const std::string& words) REQUIRES(dialogue_.mutex());
  /// Whether what was said is no turn, and not to be told.
  bool is_no_turn(const SpokenTurn& turn) REQUIRES(dialogue_.mutex());
  void forget_speech() REQUIRES(dialogue_.mutex());

  /// First words that were not told.
  struct Speech {
    SpeechStarted started;
    bool interrupts = false;
  };

  ConversationListener& listener_;
  SessionInbox& inbox_;
  Dialogue& dialogue_;
  RevisionFilter filter_ GUARDED_BY(dialogue_.mutex());
  GaugeShare is_speaking_ GUARDED_BY(dialogue_.mutex());  // for the metrics
  const Clock& clock_;
  TurnTaking taking_ GUARDED_BY(dialogue_.mutex());
  std::optional<Speech> speech_ GUARDED_BY(dialogue_.mutex());
  std::unique_ptr<SoundIn> sound_;  // null: no recogniser; last: its threads use the others
};

}  // namespace predgen::serve
