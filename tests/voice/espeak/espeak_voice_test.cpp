#include "voice/espeak/espeak_voice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

using testing::Contains;

/// With the real helper, where it was built beside this program.
struct EspeakVoiceTest : testing::Test {
  void SetUp() override {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (!std::filesystem::exists(program / "predgen-espeak")) {
      GTEST_SKIP() << "predgen-espeak was not built (PREDGEN_ESPEAK=OFF)";
    }
  }
};

TEST_F(EspeakVoiceTest, NamesAreTheConfiguredOneAndTheLanguagesOfEspeak) {
  const EspeakVoice voice({.voice = "de"});
  EXPECT_EQ(voice.names().front(), "de");
  EXPECT_EQ(std::ranges::count(voice.names(), "de"), 1);
  EXPECT_GT(voice.names().size(), 50u);
  for (const char* name : {"en-us", "en-gb", "fr-fr", "cmn"}) {
    EXPECT_THAT(voice.names(), Contains(name));
  }
  EXPECT_EQ(voice.language(), "de");
  EXPECT_EQ(voice.language("fr-fr"), "fr-fr");
  EXPECT_GE(voice.sample_rate(), 16000);
  EXPECT_EQ(EspeakVoice({.voice = "en-us+f3"}).names().front(), "en-us+f3");
}

TEST_F(EspeakVoiceTest, EveryNameCanBeHad) {
  const EspeakVoice voice({});
  for (const std::string& name : voice.names()) {
    EXPECT_EQ(voice.synthesizer(name)->language(), name);
  }
  EXPECT_EQ(voice.synthesizer()->language(), "en-us");
  for (const char* other : {"de+f3", "German"}) {  // which espeak-ng knows, too
    EXPECT_EQ(voice.synthesizer(other)->language(), other);
  }
}

TEST_F(EspeakVoiceTest, SpeaksAsFastAsAClientWants) {
  const EspeakVoice voice({.words_per_minute = 160});
  EXPECT_DOUBLE_EQ(voice.speeds().slowest, 0.5);
  const std::string text = "One two three four five six seven.";
  const auto slow = speak(*voice.synthesizer("", 0.5), text).size();
  const auto fast = speak(*voice.synthesizer("", 2), text).size();
  EXPECT_GT(slow, 2 * fast);
}

TEST_F(EspeakVoiceTest, UnknownNamesAreRefusedWithTheList) {
  const EspeakVoice voice({});
  const std::vector<std::string>& names = voice.names();
  ASSERT_GT(names.size(), 41U) << "more than a line holds";
  expect_user_error([&] { voice.synthesizer("klingonese"); },
                    {"there is no voice 'klingonese' here: choose one of en-us, ", ", de, ",
                     fmt::format(", {} or {} others", names[39], names.size() - 40)});
  expect_user_error([] { EspeakVoice({.voice = "klingonese"}); }, {"'klingonese'", ", en-us, "});
  expect_user_error([] { EspeakVoice({.helper = "/nowhere"}); }, {"/nowhere"});
}

}  // namespace
}  // namespace predgen
