#pragma once

#include <memory>
#include <string>
#include <vector>

#include "voice/piper/piper_options.h"
#include "voice/voice.h"

namespace predgen {

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
