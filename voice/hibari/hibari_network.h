#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hear/onnx/onnx_graph.h"
#include "voice/clauses/phoneme_network.h"
#include "voice/hibari/hibari_alphabet.h"
#include "voice/hibari/hibari_sound.h"

namespace predgen {

constexpr double kSlowestHibari = 0.5, kFastestHibari = 2;

struct HibariSettings {
  double speed = 1;   // of speech: 2 is twice as fast
  uint64_t seed = 0;  // of the noise in the sound, the same for every piece
};

/// Hibari: phonemes to sound at 24 kHz. The network predicts the spectrum of every frame in one
/// pass; samples are computed from it, a third of a second per step.
class HibariNetwork : public PhonemeNetwork {
 public:
  /// UserError if the graph is not Hibari's.
  HibariNetwork(std::shared_ptr<const OnnxGraph> graph, HibariAlphabet alphabet,
                const HibariSettings& settings);
  /// From a folder that has hibari.onnx and vocab.json. UserError if one cannot be used.
  static std::shared_ptr<const HibariNetwork> load(const std::filesystem::path& folder,
                                                   const HibariSettings& settings);

  int sample_rate() const override { return 24000; }
  int64_t longest_piece() const override { return 300; }
  std::unique_ptr<Synthesis> speak(const std::string& phonemes) const override;

  /// The same weights, `factor` times as fast.
  std::shared_ptr<const HibariNetwork> at_speed(double factor) const;
  const HibariSettings& settings() const { return settings_; }
  const HibariAlphabet& alphabet() const { return alphabet_; }
  /// One pass, over ids of alphabet(). Error if the outputs do not have the shapes of Hibari's.
  HibariFrames frames(const std::vector<int64_t>& ids) const;

 private:
  std::shared_ptr<const OnnxGraph> graph_;
  HibariAlphabet alphabet_;
  HibariSettings settings_;
};

}  // namespace predgen
