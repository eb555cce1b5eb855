#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/clock.h"
#include "voice/clauses/phoneme_network.h"
#include "voice/espeak/espeak_phonemes.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

struct ClauseOptions {
  std::string user;                       // for messages: "the Hibari voice"
  std::string language;                   // as espeak-ng names it
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program
  Seconds timeout{10};                    // for the phonemes of a sentence
};

/// Speaks with a network, clause by clause, in one conversation: espeak-ng makes the phonemes of a
/// sentence in its first step, and every further step synthesises part of a clause, or a short
/// clause. A sentence in which espeak-ng finds no sounds is left out, with a warning.
class ClauseSynthesizer : public SpeechSynthesizer {
 public:
  /// Starts the helper. UserError if it is missing or does not know the language.
  ClauseSynthesizer(std::shared_ptr<const PhonemeNetwork> network, const ClauseOptions& options);

  int sample_rate() const override { return network_->sample_rate(); }
  std::string language() const override { return options_.language; }
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override;

 private:
  class Sentence;

  std::shared_ptr<const PhonemeNetwork> network_;
  ClauseOptions options_;
  EspeakPhonemes espeak_;
};

/// UserError with `advice` unless the voice can say this word: detects weights that give non-finite
/// values early.
void try_out(SpeechSynthesizer& voice, const std::string& word, const std::string& advice);

}  // namespace predgen
