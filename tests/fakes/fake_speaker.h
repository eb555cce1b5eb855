#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/speech/speaker.h"

namespace predgen {

/// Writes down what it was told and when; synthesis takes `delay` for every sentence.
class FakeSpeaker : public Speaker {
 public:
  explicit FakeSpeaker(const Clock& clock, Seconds delay = Seconds(0))
      : clock_(clock), delay_(delay) {}

  void prepare(const std::string& sentence) override {
    fail_at("prepare");
    if (!prepared.empty() && prepared.back().second == sentence) return;
    prepared.emplace_back(clock_.now(), sentence);
  }
  bool is_ready_ahead() const override { return false; }
  void say(const std::string& sentence) override {
    fail_at("say");
    if (said.empty()) {
      const bool kept = !prepared.empty() && prepared.back().second == sentence;
      if (kept) report_.ready_ahead = prepared.back().first + delay_;
      report_.first_audio =
          kept ? std::max(clock_.now(), *report_.ready_ahead) : clock_.now() + delay_;
    }
    said.emplace_back(clock_.now(), sentence);
  }
  void give_way(bool urgent) override { gives_way = urgent; }
  void cancel_turn() override {
    said.clear();
    prepared.clear();
    report_ = {};
    ++num_cancelled;
  }
  std::optional<SpokenAnswer> spoken() const override { return std::nullopt; }
  SpeechReport finish_turn(const std::stop_token& = {}) override {
    report_.sentences = static_cast<int64_t>(said.size());
    report_.prepared = static_cast<int64_t>(prepared.size());
    all_said.push_back(std::exchange(said, {}));
    all_prepared.push_back(std::exchange(prepared, {}));
    const SpeechReport report = std::exchange(report_, {});
    fail_at("finish");
    return report;
  }

  using Timed = std::vector<std::pair<Seconds, std::string>>;
  Timed prepared, said;                       // of the turn under way
  std::vector<Timed> all_prepared, all_said;  // of the finished turns
  std::string fails_at;                       // "prepare", "say", "finish"; empty: never
  bool gives_way = false;
  int num_cancelled = 0;

 private:
  void fail_at(const char* moment) const {
    if (fails_at == moment) throw Error("the voice is lost");
  }

  const Clock& clock_;
  Seconds delay_;
  SpeechReport report_;
};

}  // namespace predgen
