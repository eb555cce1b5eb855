#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "hear/recogniser.h"

namespace predgen {

/// Keeps what it is given; tests say what it hears. One at a time.
struct RecogniserDesk {
  MakeRecogniser make = [this](RecogniserHandler& asks) {
    handler = &asks;
    return std::make_unique<Fake>(*this);
  };

  void hear(const std::string& text, bool is_over = false, int64_t number = 0) {
    handler->on_segment(utterance, {.text = text, .number = number, .is_over = is_over});
  }
  /// The same, with what the sound says of the voice.
  void hear_voice(const std::string& text, const HeardVoice& voice, bool is_over = false) {
    handler->on_segment(utterance, {.text = text, .is_over = is_over, .voice = voice});
  }
  /// The answer to finish().
  void end() { handler->on_end(utterance++); }

  struct Fake : Recogniser {
    explicit Fake(RecogniserDesk& at) : desk(at) {}
    bool add(int64_t, std::vector<float> more) override {
      if (desk.is_full) return false;
      desk.samples.insert(desk.samples.end(), more.begin(), more.end());
      return true;
    }
    void finish(int64_t of) override {
      if (desk.on_finish) desk.on_finish();
      desk.log.push_back("finish " + std::to_string(of));
    }
    void drop(int64_t of) override { desk.log.push_back("drop " + std::to_string(of)); }
    RecogniserDesk& desk;
  };

  RecogniserHandler* handler = nullptr;
  int64_t utterance = 0;  // that is heard
  bool is_full = false;
  std::function<void()> on_finish;
  std::vector<float> samples;
  std::vector<std::string> log;
};

}  // namespace predgen
