#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "voice/voice.h"

namespace predgen {

/// Speaks English by these names, with what a test makes for each conversation.
class FakeVoice : public Voice {
 public:
  using Make = std::function<std::unique_ptr<SpeechSynthesizer>(const std::string& name)>;
  FakeVoice(std::vector<std::string> names, Make make)
      : names_(std::move(names)), make_(std::move(make)) {}

  int sample_rate() const override { return make_(names_.front())->sample_rate(); }
  const std::vector<std::string>& names() const override { return names_; }
  std::string language(const std::string&) const override { return "en"; }
  AheadBuffer ahead_buffer() const override { return {}; }
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name,
                                                 double speed) const override {
    asked_speed = speed;
    const std::string& wanted = name.empty() ? names_.front() : name;
    for (const std::string& known : names_) {
      if (known == wanted) return make_(known);
    }
    throw unknown_voice(name, names_);
  }

  SpeedRange speeds() const override { return {0.5, 2}; }

  mutable std::atomic<double> asked_speed = 0;  // last

 private:
  const std::vector<std::string> names_;
  const Make make_;
};

/// A voice of this name that is there, and never speaks.
inline FakeVoice silent_voice(const std::string& name) {
  return FakeVoice({name}, [](const std::string&) { return nullptr; });
}

}  // namespace predgen
