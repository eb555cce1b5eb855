#include "voice/espeak/espeak_voice.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "voice/espeak/espeak_synthesizer.h"

namespace predgen {
namespace {

std::vector<std::string> read_names(const EspeakOptions& options) {
  EspeakHelper helper(options.helper, options.timeout, "the espeak voice");
  std::vector<std::string> names;
  if (helper.request({{"list", "voices"}})) {
    while (const auto frame = helper.receive()) {
      if (frame->type == EspeakFrame::Type::kDone) return names;
      names =
          parse_json(frame->payload, "the espeak helper's answer").get<std::vector<std::string>>();
    }
  }
  throw UserError("the espeak helper ended at once; run it by hand to see why, or use --tts none");
}

}  // namespace

EspeakVoice::EspeakVoice(const EspeakOptions& options)
    : options_(options), names_(read_names(options)) {
  sample_rate_ = synthesizer(options_.voice)->sample_rate();
  std::erase(names_, options_.voice);
  names_.insert(names_.begin(), options_.voice);
}

std::string EspeakVoice::language(const std::string& name) const {
  return name.empty() ? options_.voice : name;
}

SpeedRange EspeakVoice::speeds() const {
  const auto configured = static_cast<double>(options_.words_per_minute);
  return {static_cast<double>(kSlowestEspeak) / configured,
          static_cast<double>(kFastestEspeak) / configured};
}

std::unique_ptr<SpeechSynthesizer> EspeakVoice::synthesizer(const std::string& name,
                                                            double speed) const {
  EspeakOptions options = options_;
  options.words_per_minute =
      std::clamp(std::llround(static_cast<double>(options.words_per_minute) * speed),
                 static_cast<long long>(kSlowestEspeak), static_cast<long long>(kFastestEspeak));
  if (!name.empty()) options.voice = name;
  try {
    return std::make_unique<EspeakSynthesizer>(options);
  } catch (const UnknownEspeakVoice&) {
    throw unknown_voice(options.voice, names_);
  }
}

}  // namespace predgen
