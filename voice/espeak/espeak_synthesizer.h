#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "voice/espeak/espeak_helper.h"
#include "voice/espeak/espeak_options.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// The embedded voice: espeak-ng in a helper process (it is GPL-3, we are not). A helper that dies
/// is started again, once a sentence. It speaks one sentence at a time: when another one needs it,
/// the first takes all of its own sound at once and keeps it.
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
  Sentence* speaking_ = nullptr;  // whose frames come next; null: nobody wants them
};

}  // namespace predgen
