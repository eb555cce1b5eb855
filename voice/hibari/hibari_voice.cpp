#include "voice/hibari/hibari_voice.h"

#include <utility>

#include "core/error.h"
#include "core/model_names.h"
#include "hear/onnx/onnx_runtime.h"
#include "voice/clauses/clause_synthesizer.h"

namespace predgen {

Settings settings_of(HibariOptions& options) {
  return {{"model", options.model,
           "folder of hibari.onnx and vocab.json; empty: that of `predgen models get hibari`"},
          {"speed", options.settings.speed, between(kSlowestHibari, kFastestHibari), "of speech"},
          {"seed", options.settings.seed, "of the breath and hiss in the sound"}};
}

std::filesystem::path hibari_folder() { return models_folder() / "hibari"; }

namespace {

std::shared_ptr<const HibariNetwork> load(const HibariOptions& options) {
  OnnxRuntime::open();  // a build without it fails before files are looked for
  const std::filesystem::path folder = options.model.empty() ? hibari_folder() : options.model;
  std::error_code absent;
  if (options.model.empty() && !std::filesystem::is_directory(folder, absent)) {
    throw UserError("the Hibari voice is not in {}: {} fetches it; or use --tts espeak",
                    folder.string(), fetch_command("hibari"));
  }
  return HibariNetwork::load(folder, options.settings);
}

}  // namespace

HibariVoice::HibariVoice(const HibariOptions& options) : HibariVoice(load(options), options) {}

HibariVoice::HibariVoice(std::shared_ptr<const HibariNetwork> network, const HibariOptions& options)
    : options_(options), network_(std::move(network)) {
  try_out(*synthesizer(), "Ready.", "fetch the Hibari voice again");
}

SpeedRange HibariVoice::speeds() const {
  const double configured = network_->settings().speed;
  return {kSlowestHibari / configured, kFastestHibari / configured};
}

std::unique_ptr<SpeechSynthesizer> HibariVoice::synthesizer(const std::string& name,
                                                            double speed) const {
  if (!name.empty() && name != names_.front()) throw unknown_voice(name, names_);
  return std::make_unique<ClauseSynthesizer>(
      speed == 1 ? network_ : network_->at_speed(speed),
      ClauseOptions{.user = "the Hibari voice",
                    .language = language(),
                    .espeak_helper = options_.espeak_helper});
}

}  // namespace predgen
