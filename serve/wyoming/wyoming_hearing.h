#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "hear/turn_recogniser.h"
#include "serve/wyoming/wyoming_conversations.h"
#include "serve/wyoming/wyoming_event.h"

namespace predgen::serve {

struct WyomingHost;

/// Hears turns over a connection, one after the other: sound becomes a transcript. An answer is
/// drafted while the sound comes (WyomingConversations::listen). Words that may still be taken back
/// are not sent, for the protocol cannot say so. Used by the connection's thread; borrows both.
class WyomingHearing : private RecognisedTurnHandler {
 public:
  /// `peer`: the client's address. `on_heard`: called by any thread after each turn that ended.
  WyomingHearing(const WyomingHost& host, WyomingSender& sender, std::string peer,
                 std::function<void()> on_heard);
  ~WyomingHearing() override;

  /// audio-start: a turn begins; what was heard of one without an end is dropped. UserError for
  /// sound that is not 16 bits of one or two channels.
  void begin(const Json& format);
  /// audio-chunk. UserError if no turn has begun, or for sound that cannot be taken.
  void add(const std::string& pcm);
  /// audio-stop: the transcript follows.
  void end();

 private:
  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string& words) override;
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;
  /// At kRecogniserRate. UserError as add().
  void pass_on(const std::vector<float>& samples);
  /// The turn whose transcript is due first; 0: none is, or none drafts. It is due no longer.
  int64_t take_due();
  void forget_all();

  const WyomingHost& host_;
  WyomingSender& sender_;
  const std::string peer_;
  const std::function<void()> on_heard_;
  bool has_begun_ = false;
  WyomingSound sound_;
  Mutex mutex_;
  /// Of WyomingConversations::listen(): those that have ended, and the one under way.
  std::deque<int64_t> due_ GUARDED_BY(mutex_);
  TurnRecogniser recogniser_;  // last: it uses the others
};

}  // namespace predgen::serve
