#pragma once

#include <condition_variable>
#include <memory>
#include <stop_token>
#include <string>

#include "core/mutex.h"
#include "runtime/listen/heard_source.h"
#include "voice/speech_synthesizer.h"

namespace predgen::serve {

/// What a session has not taken in yet: words, changes of what it knows, a voice. Any thread puts
/// it in, the session's waits for it. With its mutex it locks those of the source and, where it
/// stops a turn, of the session's speaker.
class SessionInbox {
 public:
  /// Borrows both.
  SessionInbox(Baton& baton, const Clock& clock) : source_(baton, clock) {}

  /// What the user has said so far; empty: nothing.
  void hear(const std::string& words);
  /// All that the user has said: it is to be answered.
  void ask(const std::string& text);
  /// What was asked, if the session has not taken it.
  void withdraw() { source_.drop_final(); }

  /// The session is to look anew what it should be. `stops_turn`: a draft begins anew with that.
  void change(bool stops_turn);
  /// It does not know the history any more.
  void renew_history();
  void set_voice(std::unique_ptr<SpeechSynthesizer> voice);
  /// Takes back one that could not be used, unless there is a newer one.
  void return_voice(std::unique_ptr<SpeechSynthesizer> voice);
  /// The turn under way ends before its next pass.
  void stop_turn();
  /// The session has failed at these words: they alone are no work any more.
  void block();

  // For the session's thread.

  /// Returns when there is work. False: `stop`.
  bool wait(const std::stop_token& stop);
  struct Mail {
    std::stop_token stop{};  // of the turn
    std::unique_ptr<SpeechSynthesizer> voice{};
    bool has_new_history = false;
  };
  /// What has come since the last turn. `is_stopped`: whoever has stopped the turn means this one,
  /// too.
  Mail begin_turn(bool is_stopped);
  /// Of the turn that has begun.
  HeardSource& source() { return source_; }

 private:
  HeardSource source_;  // thread-safe

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::stop_source turn_stop_ GUARDED_BY(mutex_);
  std::unique_ptr<SpeechSynthesizer> voice_ GUARDED_BY(mutex_);
  bool has_changed_ GUARDED_BY(mutex_) = true;
  bool has_new_history_ GUARDED_BY(mutex_) = false;
  bool is_blocked_ GUARDED_BY(mutex_) = false;
};

}  // namespace predgen::serve
