#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/clock.h"
#include "runtime/speech/helper_process.h"
#include "runtime/speech/speech_synthesizer.h"

namespace predgen {

struct EspeakOptions {
  std::filesystem::path helper{};  // empty: predgen-espeak beside this program
  std::string voice = "en-us";     // `espeak-ng --voices` lists them
  int words_per_minute = 175;      // 80 to 450
  int pitch = 50;                  // 0 to 100
  Seconds timeout{10};             // for every piece of audio
};

/// The embedded voice: espeak-ng in a helper process (it is GPL-3, we are not). A helper that dies
/// is started again, once a sentence.
class EspeakSynthesizer : public SpeechSynthesizer {
 public:
  /// Starts the helper. UserError if it is missing or does not know the voice.
  explicit EspeakSynthesizer(const EspeakOptions& options);

  int sample_rate() const override { return sample_rate_; }
  bool synthesize(const std::string& sentence, const AudioCallback& on_audio) override;

  pid_t helper_pid() const { return helper_ ? helper_->pid() : -1; }

 private:
  enum class Outcome { kDone, kCancelled, kHelperDied };
  void start();
  /// Skips the `delivered` samples that the caller has had already, and counts on.
  Outcome request(const std::string& text, const AudioCallback& on_audio, size_t& delivered);

  EspeakOptions options_;
  std::unique_ptr<HelperProcess> helper_;  // null: start before the next sentence
  int sample_rate_ = 0;
};

}  // namespace predgen
