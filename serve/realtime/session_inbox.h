#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/mutex.h"
#include "hear/transcripts/transcript_queue.h"
#include "runtime/engine/baton.h"
#include "voice/speech_synthesizer.h"

namespace predgen::serve {

/// What a session has not taken in yet: words, changes to its state, a voice. Any thread puts
/// things in, the session's thread waits for them, and gives up the baton meanwhile. Holding its
/// mutex, it locks the queue's and, to stop a turn, the speaker's.
class SessionInbox : public TranscriptSource {
 public:
  /// Borrows both.
  SessionInbox(Baton& baton, const Clock& clock) : baton_(baton), queue_(clock) {}

  /// What the user has said so far; empty: nothing.
  void hear(const std::string& words);
  /// The user has paused after these words, which are all so far.
  void pause(const std::string& words);
  /// All that the user has said, to be answered.
  void ask(const std::string& text);
  /// Withdraws what was asked, if the session has not taken it.
  void withdraw() { queue_.drop_final(); }

  /// The session must check its settings again. `stops_turn`: a draft is restarted with them.
  void change(bool stops_turn);
  /// The session's history is out of date.
  void renew_history();
  void set_voice(std::unique_ptr<SpeechSynthesizer> voice);
  /// Takes back a voice that could not be used, unless there is a newer one.
  void return_voice(std::unique_ptr<SpeechSynthesizer> voice);
  /// Ends the turn in progress before its next pass.
  void stop_turn();
  /// The session has failed at these words: by themselves they are no longer work.
  void block();

  // For the session's thread.

  /// Returns when there is work. False: `stop`.
  bool wait(const std::stop_token& stop);
  struct Mail {
    std::stop_token stop{};  // of the turn
    std::unique_ptr<SpeechSynthesizer> voice{};
    bool has_new_history = false;
  };
  /// What has come since the last turn. `is_stopped`: a stop of the last turn also applies to this
  /// one.
  Mail begin_turn(bool is_stopped);
  /// Whether the user has said nothing.
  bool is_empty() const { return queue_.size() == 0; }
  std::optional<Transcript> latest(Seconds now) override { return queue_.latest(now); }
  /// Never nullopt: the input does not end. Interrupted if the turn is stopped.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

 private:
  Baton& baton_;
  TranscriptQueue queue_;  // thread-safe

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::stop_source turn_stop_ GUARDED_BY(mutex_);
  std::unique_ptr<SpeechSynthesizer> voice_ GUARDED_BY(mutex_);
  bool has_changed_ GUARDED_BY(mutex_) = true;
  bool has_new_history_ GUARDED_BY(mutex_) = false;
  bool is_blocked_ GUARDED_BY(mutex_) = false;
};

}  // namespace predgen::serve
