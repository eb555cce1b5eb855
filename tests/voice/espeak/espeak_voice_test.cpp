#include "voice/espeak/espeak_voice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/error.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
#include "text/spoken/speech_text.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// The real helper, where it was built beside this program.
struct EspeakSynthesizerTest : testing::Test {
  void SetUp() override {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (!std::filesystem::exists(program / "predgen-espeak")) {
      GTEST_SKIP() << "predgen-espeak was not built (PREDGEN_ESPEAK=OFF)";
    }
  }

  static std::vector<float> rest_of(Synthesis& synthesis) {
    std::vector<float> audio;
    while (synthesis.advance(audio)) {
    }
    return audio;
  }

  static std::vector<float> speak(EspeakSynthesizer& voice, const std::string& sentence) {
    return rest_of(*voice.begin(speakable_text(sentence, voice.language())));
  }
};

const char* const kShort = "Hello.";
const char* const kLong = "The weather in Zurich will be sunny tomorrow, with a light breeze.";

TEST_F(EspeakSynthesizerTest, SpeaksSentencesOfPlausibleLength) {
  EspeakSynthesizer voice({});
  EXPECT_GE(voice.sample_rate(), 16000);
  const auto first = speak(voice, kShort), second = speak(voice, kLong);
  const double rate = voice.sample_rate();
  EXPECT_GT(static_cast<double>(first.size()) / rate, 0.2);
  EXPECT_LT(static_cast<double>(first.size()) / rate, 2.0);
  EXPECT_GT(static_cast<double>(second.size()) / rate, 2.5);  // 12 words at 175 a minute: 4 s
  EXPECT_LT(static_cast<double>(second.size()) / rate, 7.0);
  const double energy = std::inner_product(second.begin(), second.end(), second.begin(), 0.0);
  EXPECT_GT(std::sqrt(energy / static_cast<double>(second.size())), 0.01);
}

TEST_F(EspeakSynthesizerTest, FasterSpeechIsShorter) {
  EspeakSynthesizer slow({.words_per_minute = 120}), fast({.words_per_minute = 300});
  EXPECT_LT(speak(fast, kLong).size() * 3, speak(slow, kLong).size() * 2);
}

TEST_F(EspeakSynthesizerTest, HelperThatDiesBetweenSentencesIsStartedAgain) {
  EspeakSynthesizer voice({});
  const auto before = speak(voice, kShort);
  const pid_t old = voice.helper_pid();
  ASSERT_EQ(kill(old, SIGKILL), 0);
  EXPECT_EQ(speak(voice, kShort).size(), before.size());
  EXPECT_NE(voice.helper_pid(), old);
}

TEST_F(EspeakSynthesizerTest, HelperThatDiesWithinASentenceRepeatsNothing) {
  EspeakSynthesizer voice({});
  const std::string sentence = std::string(kLong) + " " + kLong + " " + kLong;
  const auto whole = speak(voice, sentence);
  const auto synthesis = voice.begin(sentence);
  std::vector<float> audio;
  ASSERT_TRUE(synthesis->advance(audio));
  ASSERT_FALSE(audio.empty());
  kill(voice.helper_pid(), SIGKILL);
  while (synthesis->advance(audio)) {
  }
  EXPECT_EQ(audio.size(), whole.size());
}

TEST_F(EspeakSynthesizerTest, OneStepIsOnePieceOfAudio) {
  EspeakSynthesizer voice({});
  const auto synthesis = voice.begin(kLong);
  std::vector<float> audio;
  int steps = 0;
  for (bool more = true; more; ++steps) {
    const size_t before = audio.size();
    more = synthesis->advance(audio);
    EXPECT_LT(static_cast<double>(audio.size() - before), 0.5 * voice.sample_rate());
  }
  EXPECT_GT(steps, 5);
  EXPECT_FALSE(synthesis->advance(audio)) << "complete stays complete";
}

TEST_F(EspeakSynthesizerTest, SentencesAdvancedInTurnKeepTheirOwnSound) {
  EspeakSynthesizer voice({}), other({});
  const auto long_alone = speak(other, kLong), short_alone = speak(other, kShort);
  const auto first = voice.begin(kLong), second = voice.begin(kShort);
  std::vector<float> first_audio, second_audio;
  for (bool one = true, two = true; one || two;) {
    if (one) one = first->advance(first_audio);
    if (two) two = second->advance(second_audio);
  }
  EXPECT_EQ(first_audio, long_alone);
  EXPECT_EQ(second_audio, short_alone);
}

TEST_F(EspeakSynthesizerTest, HelperThatDiesWhileAnotherSentenceNeedsItLosesNothing) {
  EspeakSynthesizer voice({});
  const auto long_size = speak(voice, kLong).size(), short_size = speak(voice, kShort).size();
  const auto first = voice.begin(kLong), second = voice.begin(kShort);
  std::vector<float> first_audio, second_audio;
  ASSERT_TRUE(first->advance(first_audio));
  kill(voice.helper_pid(), SIGKILL);
  while (second->advance(second_audio)) {
  }
  while (first->advance(first_audio)) {
  }
  // A fresh helper's pauses are a little different; a lost or repeated piece has 1081 samples.
  EXPECT_NEAR(static_cast<double>(first_audio.size()), static_cast<double>(long_size), 600);
  EXPECT_NEAR(static_cast<double>(second_audio.size()), static_cast<double>(short_size), 600);
}

TEST_F(EspeakSynthesizerTest, DestroyedSentenceLeavesNothingForTheNext) {
  EspeakSynthesizer voice({}), other({});  // espeak's pauses depend a little on what it said before
  speak(other, kLong);
  std::vector<float> audio;
  {
    const auto cancelled = voice.begin(kLong);
    ASSERT_TRUE(cancelled->advance(audio));
    ASSERT_TRUE(cancelled->advance(audio));
  }
  EXPECT_EQ(speak(voice, kShort), speak(other, kShort));
}

TEST_F(EspeakSynthesizerTest, SentenceThatIsNeverAdvancedCostsNothing) {
  EspeakSynthesizer voice({}), other({});
  const auto waiting = voice.begin(kLong);
  EXPECT_EQ(speak(voice, kShort), speak(other, kShort));
}

TEST_F(EspeakSynthesizerTest, NothingSpeakableGivesNoAudio) {
  EspeakSynthesizer voice({});
  for (const char* text : {"", " \n", "...", "?!", "\x01\x02"}) {
    EXPECT_TRUE(speak(voice, text).empty()) << text;
  }
  EXPECT_FALSE(speak(voice,
                     "\xff"
                     "5\n\n")
                   .empty());
}

TEST_F(EspeakSynthesizerTest, SpeaksItsVoicesLanguage) {
  EXPECT_EQ(EspeakSynthesizer({.voice = "de"}).language(), "de");
}

TEST_F(EspeakSynthesizerTest, UnknownVoiceSaysWhereToLook) {
  EXPECT_THAT([] { EspeakSynthesizer voice({.voice = "klingonese"}); },
              ThrowsMessage<UserError>(
                  testing::AllOf(HasSubstr("klingonese"), HasSubstr("espeak-ng --voices"))));
}

TEST(EspeakSynthesizer, HelperThatDiesTwiceInASentenceIsAnError) {
  const TemporaryFolder folder;
  const auto helper = folder.path() / "helper";
  std::ofstream(helper) << R"(#!/bin/bash
printf 'R\x04\0\0\0\x22\x56\0\0'
while read -r line; do
  case $line in *Hello*) exit ;; esac
  printf 'D\0\0\0\0'
done
)";
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  EspeakSynthesizer voice({.helper = helper});
  const auto synthesis = voice.begin(kShort);
  std::vector<float> audio;
  for (int i = 0; i < 2; ++i) {  // and stays one
    EXPECT_THAT([&] { synthesis->advance(audio); },
                ThrowsMessage<Error>(testing::AllOf(HasSubstr("ends on a sentence of 6 bytes"),
                                                    testing::Not(HasSubstr("Hello")))));
  }
  EXPECT_FALSE(voice.begin("Others can be spoken.")->advance(audio));
}

TEST(EspeakOptions, BadHelpersAndNumbersAreUserErrors) {
  const auto start = [](EspeakOptions options) {
    return [options] { EspeakSynthesizer voice(options); };
  };
  EXPECT_THAT(
      start({.helper = "/no/helper"}),
      ThrowsMessage<UserError>(testing::AllOf(HasSubstr("/no/helper"), HasSubstr("--tts none"))));
  EXPECT_THAT(start({.helper = "/bin/false"}),
              ThrowsMessage<UserError>(HasSubstr("ended at once")));
  EXPECT_THAT(start({.helper = "/bin"}), ThrowsMessage<UserError>(HasSubstr("cannot start")));
  EXPECT_THAT(start({.helper = "/bin/cat", .timeout = Seconds(0.05)}),
              ThrowsMessage<Error>(HasSubstr("did not answer")));
  EXPECT_THAT(start({.words_per_minute = 20}), ThrowsMessage<UserError>(HasSubstr("20")));
  EXPECT_THAT(start({.pitch = 101}), ThrowsMessage<UserError>(HasSubstr("101")));
}

TEST(EspeakOptions, AreReadAndNamed) {
  ConfigReader good = ConfigReader::parse("voice: de\nwords_per_minute: 90\npitch: 7\n", "v.yaml");
  const EspeakOptions options = read_settings<EspeakOptions>(good);
  good.finish();
  EXPECT_EQ(options.voice, "de");
  EXPECT_EQ(options.words_per_minute, 90);
  EXPECT_EQ(options.pitch, 7);
  ConfigReader bad = ConfigReader::parse("words_per_minute: 20\npitch: 101\nspeed: 3\n", "v.yaml");
  read_settings<EspeakOptions>(bad);
  EXPECT_THAT([&] { bad.finish(); },
              ThrowsMessage<UserError>(testing::AllOf(HasSubstr("words_per_minute"),
                                                      HasSubstr("pitch"), HasSubstr("speed"))));
}

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
