#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "core/json.h"

namespace predgen::serve {

/// A client's sound as a recogniser takes it: mono, in [-1,1], at kRecogniserRate.
class WyomingSound {
 public:
  /// Sound begins in this `format`, the data of an audio-start or audio-chunk. UserError for sound
  /// that is not 16 bits of one or two channels at a common rate; then nothing begins.
  void begin(const Json& format, const std::string& event);
  /// Of the next bytes; its last samples may wait for what follows.
  std::vector<float> add(const std::string& pcm);
  /// The rest.
  std::vector<float> finish();

 private:
  int rate_ = 0, channels_ = 1;
  std::optional<Resampler> resampler_;  // nullopt: it has the recogniser's rate
};

}  // namespace predgen::serve
