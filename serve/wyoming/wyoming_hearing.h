#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "hear/turn_recogniser.h"
#include "serve/wyoming/wyoming_conversations.h"
#include "serve/wyoming/wyoming_sender.h"

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
  /// The conversation of the turn; null: none drafts. It is another's from now on.
  std::shared_ptr<WyomingConversation> give_up();
  void tell(const std::string& text);

  const WyomingHost& host_;
  WyomingSender& sender_;
  const std::string peer_;
  const std::function<void()> on_heard_;
  bool has_begun_ = false;
  int rate_ = 0, channels_ = 1;
  Mutex mutex_;
  std::shared_ptr<WyomingConversation> conversation_ GUARDED_BY(mutex_);
  std::optional<TurnRecogniser> recogniser_;  // last: it uses the others
};

}  // namespace predgen::serve
