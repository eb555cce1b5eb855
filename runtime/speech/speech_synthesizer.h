#pragma once

#include <functional>
#include <span>
#include <string>

namespace predgen {

/// Mono float samples in [-1,1], valid during the call only. Returns false to cancel.
using AudioCallback = std::function<bool(std::span<const float> samples)>;

/// Text to speech, one sentence at a time. Called from one thread.
class SpeechSynthesizer {
 public:
  virtual ~SpeechSynthesizer() = default;

  virtual int sample_rate() const = 0;  // Hz

  /// Calls `on_audio` with consecutive chunks, in order. Returns false if it was cancelled.
  /// A sentence without anything speakable gives no audio and returns true.
  virtual bool synthesize(const std::string& sentence, const AudioCallback& on_audio) = 0;
};

}  // namespace predgen
