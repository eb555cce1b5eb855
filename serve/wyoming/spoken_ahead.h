#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "voice/voice.h"

namespace predgen::serve {

/// Speaks sentences before anybody asks for their sound: whoever is sent the first sentence of an
/// answer sends it back to be spoken, over another connection. The last few are kept until then.
/// Thread-safe; borrows the voice.
class SpokenAhead {
 public:
  explicit SpokenAhead(const Voice& voice);
  ~SpokenAhead();

  /// This sentence will most likely be asked for, in the voice that was asked for last. Before any
  /// was, nothing is spoken: there may be no use for sound.
  void expect(const std::string& sentence);
  /// Passes on the sound of an expected sentence while it is made, and forgets it. `name`: of the
  /// voice; empty: the first. False: it was not expected, or cannot be spoken; nothing was passed
  /// on. Ends early after a stop, or once `take` returns false. Error if the voice fails within it.
  bool speak(const std::string& name, const std::string& sentence, const std::stop_token& stop,
             const std::function<bool(std::span<const float> samples)>& take);

 private:
  struct Spoken {
    std::string name, sentence;
    std::vector<float> samples{};
    bool has_begun = false, is_over = false, is_broken = false;
  };
  void work(const std::stop_token& stop);
  /// The next one that waits; null: there is none.
  std::shared_ptr<Spoken> next() REQUIRES(mutex_);

  const Voice& voice_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::string name_ GUARDED_BY(mutex_);                         // asked for last; empty: none was
  std::list<std::shared_ptr<Spoken>> kept_ GUARDED_BY(mutex_);  // the newest last
  std::jthread thread_;                                         // last: it uses all of them
};

}  // namespace predgen::serve
