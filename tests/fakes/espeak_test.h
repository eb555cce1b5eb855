#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "voice/espeak/espeak_helper.h"
#include "voice/voice.h"

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

/// Two conversations of a voice, which speak at once what each speaks alone, to the bit.
inline void expect_to_speak_as_if_alone(const Voice& voice) {
  const std::vector<std::string> texts{"Hello there, my friend.",
                                       "What is it that you want, then?"};
  std::vector<std::vector<float>> alone, together(texts.size());
  for (const std::string& text : texts) alone.push_back(speak(*voice.synthesizer(), text));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&, i] { together[i] = speak(*voice.synthesizer(), texts[i]); });
    }
  }
  EXPECT_EQ(together, alone);
}

}  // namespace predgen
