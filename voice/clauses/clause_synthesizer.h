#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "voice/espeak/espeak_helper.h"
#include "voice/voice.h"

namespace predgen {

/// A network that speaks phonemes: weights shared by all conversations. Used by any number of
/// threads.
class PhonemeNetwork {
 public:
  virtual ~PhonemeNetwork() = default;

  virtual int sample_rate() const = 0;  // Hz
  /// The most characters of SpokenPiece::phonemes that it speaks in one short step.
  virtual int64_t longest_piece() const = 0;

  /// Starts a piece (SpokenPiece::phonemes), including the silence that the network adds. Null if
  /// it knows none of the phonemes. The synthesis must not outlive the network.
  virtual std::unique_ptr<Synthesis> speak(const std::string& phonemes) const = 0;
};

/// Trims the silence around a piece of speech: networks add some 0.3 s before it and 0.5 s after
/// it, for which the listener would wait at the beginning and between clauses. A moment of the
/// leading silence stays, so that a soft first sound is not cut.
class QuietEdges {
 public:
  explicit QuietEdges(int sample_rate);  // Hz

  /// Takes the next sound of the piece; appends what is certain to be played.
  void push(std::span<const float> sound, std::vector<float>& samples);
  /// Ends the piece: appends `pause` of silence after its last sound, unless it had none. Another
  /// piece may follow.
  void end(Seconds pause, std::vector<float>& samples);

 private:
  int sample_rate_;
  size_t lead_;              // samples
  std::vector<float> held_;  // quiet so far, may yet be played
  bool has_sound_ = false;
};

/// How long a voice pauses after a clause with this mark (Clause::mark).
Seconds pause_behind(std::string_view mark);

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
