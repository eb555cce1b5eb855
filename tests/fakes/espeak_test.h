#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "voice/espeak/espeak_helper.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// With the real helper, where it was built beside this program.
struct EspeakTest : testing::Test {
  void SetUp() override {
    if (!EspeakHelper::is_there()) {
      GTEST_SKIP() << "predgen-espeak was not built (PREDGEN_ESPEAK=OFF)";
    }
  }
};

/// All sound of a sentence, or what is left of it.
inline std::vector<float> rest_of(Synthesis& synthesis) {
  std::vector<float> samples;
  while (synthesis.advance(samples)) {
  }
  return samples;
}

inline std::vector<float> speak(SpeechSynthesizer& voice, const std::string& sentence) {
  return rest_of(*voice.begin(sentence));
}

}  // namespace predgen
