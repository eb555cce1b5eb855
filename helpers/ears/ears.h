#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "helpers/ears/ear.h"
#include "runtime/listen/ears_frames.h"

namespace predgen::ears {

/// A HearVoice for each new stream, with what it remembers of the stream.
using MakeHearVoice = std::function<HearVoice()>;
/// How likely a turn is over that sounds so (up to Ear::kTurnSound samples).
using JudgeEnd = std::function<double(const std::vector<float>& sound)>;

/// All streams of the program: frames of the client in, frames for it out, and what is to be
/// decoded meanwhile. Used by one thread at a time.
class Ears {
 public:
  /// `judge_end` empty: ends are not judged.
  Ears(MakeHearVoice make_hear_voice, JudgeEnd judge_end, const DecoderPace& pace);

  /// UserError for what no client of ours sends.
  void take(const EarsFrame& frame);

  /// The most urgent decode: final texts, then those of pauses, then partials, and of these the
  /// stream that has waited longest. Nothing while there is none.
  std::optional<DecodeJob> next_job();
  void finish_job(const DecodeJob& job, const Decoded& decoded);

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
  const JudgeEnd judge_end_;
  const DecoderPace pace_;
  std::map<uint32_t, Stream> streams_;
  std::set<uint32_t> over_;  // streams that were, of late
  uint64_t num_jobs_ = 0;
  std::vector<EarsFrame> frames_;
  std::vector<uint32_t> ended_;
};

}  // namespace predgen::ears
