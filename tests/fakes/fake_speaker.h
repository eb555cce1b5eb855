#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/speech/speaker.h"

namespace predgen {

/// Writes down what it was told and when; synthesis takes `delay` for every sentence.
class FakeSpeaker : public Speaker {
 public:
  explicit FakeSpeaker(const Clock& clock, Seconds delay = Seconds(0))
      : clock_(clock), delay_(delay) {}

  void prepare(const std::string& sentence) override {
    if (!prepared.empty() && prepared.back().second == sentence) return;
    prepared.emplace_back(clock_.now(), sentence);
  }
  void say(const std::string& sentence) override {
    if (said.empty()) {
      const bool kept = !prepared.empty() && prepared.back().second == sentence;
      if (kept) report_.ready_ahead = prepared.back().first + delay_;
      report_.first_audio =
          kept ? std::max(clock_.now(), *report_.ready_ahead) : clock_.now() + delay_;
    }
    said.emplace_back(clock_.now(), sentence);
  }
  SpeechReport finish_turn() override {
    report_.sentences = static_cast<int64_t>(said.size());
    report_.prepared = static_cast<int64_t>(prepared.size());
    all_said.push_back(std::exchange(said, {}));
    all_prepared.push_back(std::exchange(prepared, {}));
    return std::exchange(report_, {});
  }

  using Timed = std::vector<std::pair<Seconds, std::string>>;
  Timed prepared, said;                       // of the turn under way
  std::vector<Timed> all_prepared, all_said;  // of the finished turns

 private:
  const Clock& clock_;
  Seconds delay_;
  SpeechReport report_;
};

}  // namespace predgen
