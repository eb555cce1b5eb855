#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "serve/wyoming/wyoming_event.h"
#include "text/sentence/sentence_end.h"
#include "text/thoughts.h"
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

/// Speaks texts for a client, one after the other, in a thread of its own: a sentence is sound as
/// soon as its end has come, or was spoken before it was asked for. Used by one thread; borrows
/// voice and sender.
class WyomingVoice {
 public:
  /// `max_bytes`: of texts that are not spoken yet, with what else a text takes. `on_spoken`:
  /// called by the voice's thread after each text.
  WyomingVoice(const Voice& voice, SpokenAhead* ahead, int64_t max_bytes, WyomingSender& sender,
               std::function<void()> on_spoken);
  /// Ends before the voice's next step.
  ~WyomingVoice();

  /// A text in the voice of this name, or its first. `is_stream`: its end is told by
  /// synthesize-stopped, too. UserError if too much has come.
  void begin(const std::string& voice, bool is_stream);
  /// More of the text, with the same errors.
  void add(const std::string& text);
  void end();

 private:
  struct Step {
    enum class Kind { kBegin, kText, kEnd } kind = Kind::kBegin;
    std::string text{};  // or the voice's name
    bool is_stream = false;
  };
  /// `num_bytes`: that it counts for. UserError if too much waits.
  void push(Step step, size_t num_bytes);
  /// The voice's thread, as all that follows.
  void work(const std::stop_token& stop);
  void take(const Step& step, const std::stop_token& stop);
  void forget(size_t num_bytes);
  /// The sentences that are complete.
  void speak(bool is_last, const std::stop_token& stop);
  /// False: there is no room, and will be none.
  bool send_sound(std::span<const float> samples, const std::stop_token& stop);
  Json format() const;

  const Voice& voice_;
  SpokenAhead* const ahead_;  // null: nothing is
  const size_t max_bytes_;
  WyomingSender& sender_;
  const std::function<void()> on_spoken_;

  std::string name_;
  std::unique_ptr<SpeechSynthesizer> synthesizer_;
  bool is_stream_ = false;
  std::string text_;           // without thoughts
  size_t spoken_ = 0;          // bytes of it
  ThoughtParser thoughts_;     // of the text that comes
  size_t num_text_bytes_ = 0;  // with thoughts
  SentenceEndFinder ends_;
  int64_t num_samples_ = 0;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Step> steps_ GUARDED_BY(mutex_);
  size_t num_bytes_ GUARDED_BY(mutex_) = 0;  // of the texts that have not ended
  std::jthread thread_;                      // last: it uses all of them
};

}  // namespace predgen::serve
