#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "hear/transcripts/transcript_source.h"
#include "hear/turn_recogniser.h"
#include "runtime/converse/turn.h"

// What happens in a conversation. What an event refers to is valid until the call returns.
namespace predgen {

/// When a turn was spoken, on the clock.
struct SpokenTimes {
  Seconds voice_ended{0};  // the last sample of the voice
  Seconds words_known{0};  // the last change of what was heard; not before voice_ended
  Seconds turn_ended{0};   // the time of the final transcript
};

/// Everything heard of the turn so far; if final, it is answered now.
struct Heard {
  const Transcript& transcript;
};
/// A draft of the answer, which is not committed: only a local pane may show it. Its first
/// `accepted_bytes` come from the pass that verified the draft before.
struct Drafted {
  const std::string& draft;
  size_t accepted_bytes;
};
/// The whole calls of the draft: of the first round, as TurnObserver::on_calls has them.
struct CallsDrafted {
  const std::vector<DraftedCall>& calls;
};
/// The draft's first sentence is complete, and its sound is being synthesised.
struct SentenceDrafted {
  const std::string& sentence;
};
/// More of the answer, committed.
struct Said {
  const std::string& text;
};
/// The context has no room for the oldest rounds.
struct RoundsDropped {
  int64_t num_rounds;
};
/// The answer is complete, or has failed; its sound may still be playing.
struct Answered {
  const TurnResult& result;
  SpokenTimes times;
};
/// The rest of the answer's sound is not played.
struct SoundStuck {};
/// The user has ended the answer. `kept`: what was heard of it, which the history keeps; empty:
/// nothing, so its question is asked again.
struct BrokenOff {
  std::string kept;
};
/// Something that the user said is lost.
struct SpeechLost {
  std::string why;
};

/// The user has marked a turn, in which no words were heard.
struct NothingHeard {};

/// The phrase was heard that wakes the assistant (Conversation::Options::wake), or is needed again.
struct AwakeChanged {
  bool is_awake;
};

// In sound, for who asks himself (Conversation::Options::asks).

/// The user has begun to speak: there are words, and over an answer more than an acknowledgement.
/// Told again if the words were taken back meanwhile. `milliseconds`: of all sound so far.
struct SpeechBegun {
  int64_t turn = 0, milliseconds = 0;
  bool is_again = false;
};
/// All words of the turn so far; none: they were taken back.
struct WordsHeard {
  const std::string& words;
};
/// The user's turn is over. `is_turn`: SpeechBegun was told, or the sender of the sound ended it.
struct TurnHeard {
  const RecognisedTurn& turn;
  bool is_turn;
};

using ConversationEvent =
    std::variant<Heard, Drafted, CallsDrafted, SentenceDrafted, Said, RoundsDropped, Answered,
                 SoundStuck, BrokenOff, SpeechLost, NothingHeard, AwakeChanged, SpeechBegun,
                 WordsHeard, TurnHeard>;

/// Receives the events: those of a turn in the thread that answers; AwakeChanged in the thread that
/// brings the sound; SpeechLost, NothingHeard and those of sound in any thread, one at a time, with
/// the recogniser's lock.
class ConversationListener {
 public:
  virtual ~ConversationListener() = default;

  virtual void on_event(const ConversationEvent& event) = 0;
};

}  // namespace predgen
