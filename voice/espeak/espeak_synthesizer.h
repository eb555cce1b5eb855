#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "voice/espeak/espeak_helper.h"
#include "voice/espeak/espeak_options.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// The embedded voice: espeak-ng in a helper process (it is GPL-3, we are not). A helper that dies
/// is restarted, once per sentence. It speaks one sentence at a time: when another one needs it,
/// the first fetches all of its remaining sound at once and keeps it.
class EspeakSynthesizer : public SpeechSynthesizer {
 public:
  /// Starts the helper. UserError if it is missing or does not know the voice.
  explicit EspeakSynthesizer(const EspeakOptions& options);

  int sample_rate() const override { return helper_.sample_rate(); }
  std::string language() const override { return options_.voice; }
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override;

  pid_t helper_pid() const { return helper_.pid(); }

 private:
  class Sentence;
  bool request(const std::string& text);

  EspeakOptions options_;
  EspeakHelper helper_;
  Sentence* speaking_ = nullptr;  // the receiver of the next frames; null: none
};

}  // namespace predgen
