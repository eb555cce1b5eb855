#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <stop_token>

#include "core/mutex.h"
#include "hear/asr/decoder.h"
#include "hear/asr/ears.h"

namespace predgen::ears {

/// How likely a turn with this sound is over; at most Ear::kTurnSound samples.
using JudgeEnd = std::function<double(const std::vector<float>& sound)>;

/// Ears between two file descriptors: one thread reads and hears, another one decodes.
class Service {
 public:
  /// `out`: where frames are written. Borrows the decoder. `judge_end` empty: ends are not judged.
  Service(int in, int out, Decoder& decoder, MakeHearVoice make_hear_voice, JudgeEnd judge_end);

  /// Returns when the input ends. UserError for invalid frames.
  void run();
  /// Decodes forever, in a thread of its own.
  void decode();

  /// Ends the program if that fails: the client is gone, and so is our purpose.
  static void write_frame(int out, const EarsFrame& frame);

 private:
  void take(const EarsFrame& frame);
  void tell() REQUIRES(mutex_);

  const int in_, out_;
  Decoder& decoder_;
  const JudgeEnd judge_end_;
  Mutex mutex_;
  std::condition_variable changed_;
  Ears ears_ GUARDED_BY(mutex_);
  std::stop_source stop_ GUARDED_BY(mutex_);  // of the decode that is running
  std::deque<EarsFrame> pings_ GUARDED_BY(mutex_);
};

}  // namespace predgen::ears
