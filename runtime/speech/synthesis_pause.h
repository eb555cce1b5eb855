#pragma once

#include <utility>

#include "runtime/speech/speaker.h"

namespace predgen {

/// Synthesis waits while this lives, or until end(): the language model has a verification to run.
/// Borrows the speaker.
class SynthesisPause {
 public:
  explicit SynthesisPause(Speaker& speaker) : speaker_(speaker) { speaker.give_way(true); }
  ~SynthesisPause() { end(); }
  SynthesisPause(const SynthesisPause&) = delete;
  SynthesisPause& operator=(const SynthesisPause&) = delete;
  void end() {
    if (std::exchange(active_, false)) speaker_.give_way(false);
  }

 private:
  Speaker& speaker_;
  bool active_ = true;
};

}  // namespace predgen
