#pragma once

#include <memory>
#include <string>
#include <vector>

namespace predgen {

/// One sentence being synthesised. It holds all of its state: leaving it idle costs nothing,
/// destroying it cancels it.
class Synthesis {
 public:
  virtual ~Synthesis() = default;

  /// Does one short step of work. Appends the resulting samples, perhaps none: mono, in [-1,1].
  /// Returns false once the sentence is complete; no further calls are needed.
  virtual bool advance(std::vector<float>& samples) = 0;
};

/// Text to speech, sentence by sentence. The synthesizer and its syntheses are used by one thread
/// at a time.
class SpeechSynthesizer {
 public:
  virtual ~SpeechSynthesizer() = default;

  // Both never change; any thread may call them.
  virtual int sample_rate() const = 0;       // Hz
  virtual std::string language() const = 0;  // its code, for speakable_text()

  /// Starts a sentence, as returned by speakable_text() in this language; an empty one completes at
  /// its first step. Syntheses may be advanced in turn, and must not outlive the synthesizer.
  virtual std::unique_ptr<Synthesis> begin(const std::string& spoken) = 0;
};

}  // namespace predgen
