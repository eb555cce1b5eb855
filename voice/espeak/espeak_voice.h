#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/setting.h"
#include "voice/espeak/espeak_helper.h"
#include "voice/voice.h"

namespace predgen {

constexpr int64_t kSlowestEspeak = 80, kFastestEspeak = 450;  // words per minute

/// The embedded voice, and how it speaks.
struct EspeakOptions {
  std::filesystem::path helper{};  // empty: predgen-espeak beside this program
  std::string voice = "en-us";
  int64_t words_per_minute = 175, pitch = 50;
  Seconds timeout{10};  // for every piece of audio
};

Settings settings_of(EspeakOptions& options);

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
