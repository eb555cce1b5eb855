#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hear/onnx/onnx_graph.h"
#include "voice/clauses/phoneme_network.h"
#include "voice/piper/piper_config.h"

namespace predgen {

constexpr double kSlowestPiper = 0.25, kFastestPiper = 4;

/// How a Piper voice speaks.
struct PiperSettings {
  double speed = 1;  // 2 is twice as fast
  // Randomness of the sound and of the phonemes' durations. The network draws it itself and takes
  // no seed, so a text sounds the same each time only if both are 0.
  double noise_scale = -1, noise_w = -1;  // below 0: the voice's own
};

/// The network of a Piper voice. Immutable, used by any number of threads.
class PiperModel {
 public:
  /// UserError if the graph is not a Piper voice's, or does not match `config`.
  PiperModel(std::unique_ptr<const OnnxGraph> graph, PiperConfig config,
             const PiperSettings& settings);

  const PiperConfig& config() const { return config_; }
  /// N samples, in any shape, for config().phoneme_ids(), spoken by a speaker of the config,
  /// `speed` times as fast as the settings say.
  OnnxOutput run(const std::vector<int64_t>& ids, int64_t speaker, double speed = 1) const;

 private:
  std::unique_ptr<const OnnxGraph> graph_;
  PiperConfig config_;
  PiperSettings settings_;
};

/// One speaker of a PiperModel. Each piece is one step.
class PiperNetwork : public PhonemeNetwork {
 public:
  PiperNetwork(std::shared_ptr<const PiperModel> model, int64_t speaker, double speed = 1)
      : model_(std::move(model)), speaker_(speaker), speed_(speed) {}

  int sample_rate() const override { return static_cast<int>(model_->config().sample_rate); }
  int64_t longest_piece() const override { return 120; }
  std::unique_ptr<Synthesis> speak(const std::string& phonemes) const override;

 private:
  std::shared_ptr<const PiperModel> model_;
  int64_t speaker_;
  double speed_;
};

}  // namespace predgen
