#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "voice/ahead_buffer.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

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
