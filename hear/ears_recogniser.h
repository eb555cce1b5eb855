#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "hear/ears_process.h"
#include "hear/recogniser.h"

namespace predgen {

/// Recognises one user's speech with the program predgen-ears, which conversations share: an
/// utterance is a stream of it. When the program ends, what was told of an utterance stays, as if
/// the user had paused, and sound added from then on continues the utterance and waits until the
/// program has restarted; an active voice is assumed to go on until then. It is a failure only if
/// nothing was told of a finished utterance, or if the program does not restart. A handler that
/// throws is told a failure, and other conversations go on.
class EarsRecogniser : public Recogniser, private EarsListener {
 public:
  /// The handler is borrowed.
  EarsRecogniser(std::shared_ptr<EarsProcess> process, RecogniserHandler& handler);
  ~EarsRecogniser() override;  // the handler is not called any more

  bool add(int64_t utterance, std::vector<float> samples) override;
  void finish(int64_t utterance) override;
  void drop(int64_t utterance) override;

 private:
  struct Utterance {
    std::optional<uint32_t> stream{};  // nullopt: the next sound opens one
    int64_t num_samples = 0;           // added
    int64_t first_sample = 0;          // of the utterance, in this stream
    int64_t first_segment = 0;
    std::deque<RecognisedSegment> untold{};
    RecognisedSegment last{};  // that was heard
    bool has_words = false;    // something was heard
    bool was_active = false;   // somebody was speaking when the program ended
    bool is_finished = false;  // no more sound is added
    bool is_done = false;      // no more results follow
  };

  void on_heard(uint32_t stream, const RecognisedSegment& segment) override;
  void on_done(uint32_t stream) override;
  void on_lost(const std::string& why, bool is_starting, uint32_t last) override;
  void on_started() override;

  /// Streams up to the number `lost` are closed already.
  void forget_all(uint32_t lost) REQUIRES(mutex_);
  /// Null: it was dropped.
  Utterance* find(uint32_t stream) REQUIRES(mutex_);
  /// Tells the handler what is untold, utterance by utterance: finished ones come first.
  void tell();
  void tell_untold();
  void fail(const std::string& why);

  const std::shared_ptr<EarsProcess> process_;
  RecogniserHandler& handler_;
  Mutex mutex_;  // not held while calling the handler, which may call add()
  std::map<int64_t, Utterance> utterances_ GUARDED_BY(mutex_);
};

}  // namespace predgen
