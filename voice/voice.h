#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "voice/ahead_buffer.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// Text to speech without what changes while somebody speaks: weights and settings, which
/// conversations share. Immutable, used by any number of threads.
class Voice {
 public:
  virtual ~Voice() = default;

  virtual int sample_rate() const = 0;  // Hz
  /// Whom it can speak as, by the names that a client may ask for. The first one speaks for
  /// whoever asks for nobody.
  virtual const std::vector<std::string>& names() const = 0;
  /// The code of the language of a name: what speakable_text() wants. Empty: the first name.
  virtual std::string language(const std::string& name = {}) const = 0;
  /// How far ahead a sentence is best synthesised.
  virtual AheadBuffer ahead_buffer() const = 0;

  /// One for each conversation, with all that changes: caches, random numbers, helper processes.
  /// It borrows the voice. Empty `name`: the first one. unknown_voice() for one that there is not.
  virtual std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {}) const = 0;
};

/// What a voice that has these names throws for another one.
UserError unknown_voice(const std::string& name, const std::vector<std::string>& names);

}  // namespace predgen
