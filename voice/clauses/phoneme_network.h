#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "voice/speech_synthesizer.h"

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

}  // namespace predgen
