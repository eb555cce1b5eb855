#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/setting.h"
#include "voice/hibari/hibari_network.h"
#include "voice/voice.h"

namespace predgen {

/// The Hibari voice: where it is, and how it speaks.
struct HibariOptions {
  std::filesystem::path model{};  // empty: hibari_folder()
  HibariSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program
};

Settings settings_of(HibariOptions& options);

/// Where scripts/fetch_model.py puts the voice.
std::filesystem::path hibari_folder();

/// Hibari as a voice: American English at 24 kHz, faster than speech on one thread of a CPU.
class HibariVoice : public Voice {
 public:
  /// Loads it and says a word. UserError if its folder, ONNX Runtime or espeak-ng's helper is
  /// missing or cannot be used.
  explicit HibariVoice(const HibariOptions& options);
  /// From a loaded network.
  HibariVoice(std::shared_ptr<const HibariNetwork> network, const HibariOptions& options);

  int sample_rate() const override { return network_->sample_rate(); }
  const std::vector<std::string>& names() const override { return names_; }  // "hibari"
  std::string language(const std::string& = {}) const override { return "en-us"; }
  AheadBuffer ahead_buffer() const override { return {}; }
  SpeedRange speeds() const override;
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                 double speed = 1) const override;

 private:
  HibariOptions options_;
  std::vector<std::string> names_{"hibari"};
  std::shared_ptr<const HibariNetwork> network_;
};

}  // namespace predgen
