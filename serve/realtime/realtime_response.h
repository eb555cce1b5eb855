#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/mutex.h"
#include "serve/realtime/conversation_listener.h"

namespace predgen::serve {

/// One response in progress: it becomes items, and its events come in order. Text and sound may
/// come from different threads. Borrows the listener.
class RealtimeResponse {
 public:
  /// Sends ResponseBegun. `info`: without an id.
  RealtimeResponse(ConversationListener& listener, ResponseInfo info);

  const ResponseInfo& info() const { return info_; }

  void add_text(const std::string& text);
  /// At kRealtimeRate; after the text that it says. `now`: when it arrives.
  void add_sound(std::span<const float> samples, Seconds now);
  /// Sends the last events. Returns the answer: a message, if there is one, and its calls.
  std::vector<ConversationItem> finish(const ResponseEnd& end);
  /// The answer so far; after finish(): all of it.
  ConversationItem item() const;
  /// When a client that plays the sound as it comes has played all of it; 0: no sound.
  Seconds heard_until() const;

 private:
  void begin_message() REQUIRES(mutex_);

  ConversationListener& listener_;
  const ResponseInfo info_;

  mutable Mutex mutex_;  // also for the order of events
  ConversationItem item_ GUARDED_BY(mutex_);
  bool has_item_ GUARDED_BY(mutex_) = false;
  Seconds sound_begin_ GUARDED_BY(mutex_){0};
};

}  // namespace predgen::serve
