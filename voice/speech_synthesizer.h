#pragma once

#include <memory>
#include <string>
#include <vector>

namespace predgen {

/// One sentence on its way to sound. It holds all of its state: left alone it waits without cost,
/// destroyed it is cancelled.
class Synthesis {
 public:
  virtual ~Synthesis() = default;

  /// One short step of work. Appends what samples it gave, perhaps none: mono, in [-1,1]. Returns
  /// false once the sentence is complete; then there is nothing more to call for.
  virtual bool advance(std::vector<float>& samples) = 0;
};

/// Text to speech, sentence by sentence. The synthesizer and what it begins are used by one thread
/// at a time.
class SpeechSynthesizer {
 public:
  virtual ~SpeechSynthesizer() = default;

  // Both never change, and any thread may ask for them.
  virtual int sample_rate() const = 0;       // Hz
  virtual std::string language() const = 0;  // its code: what speakable_text() wants

  /// Starts a sentence, as speakable_text() gives it in this language; an empty one is complete at
  /// its first step. Syntheses may be advanced in turn, and must not outlive the synthesizer.
  virtual std::unique_ptr<Synthesis> begin(const std::string& spoken) = 0;
};

}  // namespace predgen
