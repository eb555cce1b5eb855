#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/setting.h"
#include "hear/onnx/onnx_session.h"
#include "voice/clauses/clause_synthesizer.h"
#include "voice/voice.h"

namespace predgen {

/// The settings of a Piper voice in NAME.onnx.json.
struct PiperConfig {
  int64_t sample_rate = 0;  // Hz
  std::string language;     // as espeak-ng names it
  double noise_scale = 0.667, length_scale = 1, noise_w = 0.8;
  std::vector<std::pair<std::string, int64_t>>
      speakers;                                  // names and ids, by id; empty: one speaker
  std::map<char32_t, std::vector<int64_t>> ids;  // of phonemes and marks
  std::map<char32_t, std::u32string> replaced;   // phonemes replaced by others

  /// UserError if the file is missing, lacks a field, or is not for a voice that speaks espeak-ng's
  /// phonemes.
  static PiperConfig load(const std::filesystem::path& file);

  /// The ids of SpokenPiece::phonemes, as a sentence: with its begin, its end, and the pause that
  /// Piper puts between all ids. Characters without an id are left out; empty: all are.
  std::vector<int64_t> phoneme_ids(std::string_view phonemes) const;
};

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

/// A Piper voice: its location, its speaker, and how it speaks.
struct PiperOptions {
  std::filesystem::path voice{};
  std::string speaker{};
  PiperSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program

  /// The .onnx file. UserError if there is none, or more than one.
  std::filesystem::path file() const;
};

Settings settings_of(PiperOptions& options);

/// A Piper voice, in the language and at the sample rate of its configuration.
class PiperVoice : public Voice {
 public:
  /// Loads it and says a word. UserError if its files, ONNX Runtime or espeak-ng's helper are
  /// missing or cannot be used.
  explicit PiperVoice(const PiperOptions& options);
  /// From a loaded network, whose file has this name.
  PiperVoice(std::shared_ptr<const PiperModel> model, const std::string& name,
             const PiperOptions& options);

  int sample_rate() const override { return static_cast<int>(model_->config().sample_rate); }
  /// Its speakers, the chosen one first; with one speaker, the file name without its extension.
  const std::vector<std::string>& names() const override { return names_; }
  std::string language(const std::string& = {}) const override { return model_->config().language; }
  AheadBuffer ahead_buffer() const override { return {}; }
  SpeedRange speeds() const override;
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                 double speed = 1) const override;

 private:
  int64_t speaker_id(const std::string& name) const;

  PiperOptions options_;
  std::shared_ptr<const PiperModel> model_;
  std::vector<std::string> names_;
};

}  // namespace predgen
