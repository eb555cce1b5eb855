#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

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

/// How much of a sentence is synthesised before it is played: whichever limit is reached first.
struct AheadBuffer {
  Seconds audio{3};
  int64_t steps = std::numeric_limits<int64_t>::max();  // of Synthesis::advance()

  bool is_full(int64_t num_steps, size_t num_samples, int sample_rate) const {
    return num_steps >= steps || static_cast<double>(num_samples) >= audio.count() * sample_rate;
  }
};

/// Speeds of speech, as factors: 2 is twice as fast as the voice is configured.
struct SpeedRange {
  double slowest = 1, fastest = 1;
  bool has(double speed) const { return speed >= slowest && speed <= fastest; }
};

/// The immutable part of text to speech: weights and settings, shared by all conversations. Used by
/// any number of threads.
class Voice {
 public:
  virtual ~Voice() = default;

  virtual int sample_rate() const = 0;  // Hz
  /// The speakers, by the names that a client may request. The first one is the
  /// default.
  virtual const std::vector<std::string>& names() const = 0;
  /// The language code of the speaker `name`, for speakable_text(). Empty: the first name.
  virtual std::string language(const std::string& name = {}) const = 0;
  /// What a client may ask of synthesizer().
  virtual SpeedRange speeds() const = 0;
  /// How far ahead a sentence should be synthesised.
  virtual AheadBuffer ahead_buffer() const = 0;

  /// One per conversation, with all mutable state: caches, random numbers, helper processes. It
  /// borrows the voice. Empty `name`: the first one. Throws unknown_voice() for an unknown name.
  /// `speed`: one of speeds().
  virtual std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                         double speed = 1) const = 0;
};

/// The error that a voice with these names throws for another name.
UserError unknown_voice(const std::string& name, const std::vector<std::string>& names);

}  // namespace predgen
