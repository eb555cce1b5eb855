#include "voice/piper/piper_voice.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "hear/onnx/onnx_runtime.h"
#include "hear/onnx/onnx_session.h"
#include "voice/clauses/clause_synthesizer.h"

namespace predgen {
namespace {

std::shared_ptr<const PiperModel> load(const PiperOptions& options) {
  OnnxRuntime::open();  // a build without it fails before files are looked for
  const std::filesystem::path file = options.file();
  PiperConfig config = PiperConfig::load(file.string() + ".json");
  return std::make_shared<const PiperModel>(std::make_unique<const OnnxSession>(file),
                                            std::move(config), options.settings);
}

std::vector<std::string> speaker_names(const PiperConfig& config, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [speaker, id] : config.speakers) names.push_back(speaker);
  if (names.empty()) names.push_back(name);
  return names;
}

}  // namespace

PiperVoice::PiperVoice(const PiperOptions& options)
    : PiperVoice(load(options), options.file().stem().string(), options) {}

PiperVoice::PiperVoice(std::shared_ptr<const PiperModel> model, const std::string& name,
                       const PiperOptions& options)
    : options_(options), model_(std::move(model)), names_(speaker_names(model_->config(), name)) {
  if (!options_.speaker.empty()) {
    const auto chosen = std::ranges::find(names_, options_.speaker);
    if (chosen == names_.end()) throw unknown_voice(options_.speaker, names_);
    std::rotate(names_.begin(), chosen, chosen + 1);
  }
  // A digit: every language has a word for it.
  try_out(*synthesizer(), "1", "fetch the Piper voice " + name + " again");
}

int64_t PiperVoice::speaker_id(const std::string& name) const {
  for (const auto& [speaker, id] : model_->config().speakers) {
    if (speaker == name) return id;
  }
  return 0;
}

SpeedRange PiperVoice::speeds() const {
  const double configured = options_.settings.speed;
  return {kSlowestPiper / configured, kFastestPiper / configured};
}

std::unique_ptr<SpeechSynthesizer> PiperVoice::synthesizer(const std::string& name,
                                                           double speed) const {
  const std::string& wanted = name.empty() ? names_.front() : name;
  if (std::ranges::find(names_, wanted) == names_.end()) throw unknown_voice(wanted, names_);
  return std::make_unique<ClauseSynthesizer>(
      std::make_shared<const PiperNetwork>(model_, speaker_id(wanted), speed),
      ClauseOptions{.user = "the Piper voice",
                    .language = language(),
                    .espeak_helper = options_.espeak_helper});
}

}  // namespace predgen
