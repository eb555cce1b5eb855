#pragma once

#include "voice/espeak/espeak_options.h"
#include "voice/voice.h"

namespace predgen {

/// The embedded voice: espeak-ng, as a separate process per conversation.
class EspeakVoice : public Voice {
 public:
  /// Tries it. UserError if the helper is missing or rejects the options.
  explicit EspeakVoice(const EspeakOptions& options);

  int sample_rate() const override { return sample_rate_; }
  /// The configured one, then the languages of espeak-ng's voices. It also knows these by other
  /// names, with variants after a "+"; synthesizer() takes them all.
  const std::vector<std::string>& names() const override { return names_; }
  std::string language(const std::string& name = {}) const override;
  AheadBuffer ahead_buffer() const override { return {}; }
  SpeedRange speeds() const override;
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                 double speed = 1) const override;

 private:
  EspeakOptions options_;
  std::vector<std::string> names_;
  int sample_rate_ = 0;
};

}  // namespace predgen
