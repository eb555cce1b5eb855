#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "hear/asr/decoder.h"
#include "hear/asr/ear.h"
#include "hear/ears_frames.h"

namespace predgen::ears {

/// A HearVoice for each new stream, with what it remembers of the stream.
using MakeHearVoice = std::function<HearVoice()>;

/// All streams of the program: client frames in, frames for the client out, and decodes to run
/// meanwhile. Used by one thread at a time.
class Ears {
 public:
  Ears(MakeHearVoice make_hear_voice, const DecoderPace& pace);

  /// UserError for a frame that our clients never send.
  void take(const EarsFrame& frame);
  /// As Ear's; nullopt, and nothing happens, if there is no such stream.
  std::optional<std::vector<float>> take_turn_sound(uint32_t stream);
  void set_end(uint32_t stream, double probability);

  /// The most urgent decode: final texts, then those of pauses, then partials, and of these the
  /// stream that has waited longest. nullopt while there is none.
  std::optional<DecodeJob> next_job();
  /// Whether the job that runs is in the way of a more urgent one, and had better be stopped.
  bool is_late() const;
  /// `decoded` empty: it was stopped.
  void finish_job(const DecodeJob& job, const std::optional<Decoded>& decoded);

  /// What the client is to be told, in order.
  std::vector<EarsFrame> take_frames();
  /// Streams that are over since the last call.
  std::vector<uint32_t> take_ended();

  static constexpr size_t kMostStreams = 1000;

 private:
  struct Stream {
    Ear ear;
    uint64_t served = 0;  // when its last decode began
  };

  Ear& ear_of(uint32_t stream);
  void tell(uint32_t stream);
  void end(uint32_t stream);

  const MakeHearVoice make_hear_voice_;
  const DecoderPace pace_;
  std::map<uint32_t, Stream> streams_;
  std::set<uint32_t> over_;  // streams that ended recently
  uint64_t num_jobs_ = 0;
  struct Running {
    uint32_t stream;
    Need need;
  };
  std::optional<Running> running_;
  std::vector<EarsFrame> frames_;
  std::vector<uint32_t> ended_;
};

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
