#include "runtime/speech/espeak_synthesizer.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "runtime/speech/speech_text.h"

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

  static std::vector<float> speak(EspeakSynthesizer& voice, const std::string& sentence) {
    std::vector<float> audio;
    EXPECT_TRUE(voice.synthesize(sentence, [&](std::span<const float> samples) {
      audio.insert(audio.end(), samples.begin(), samples.end());
      return true;
    }));
    return audio;
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
  std::vector<float> audio;
  EXPECT_TRUE(voice.synthesize(sentence, [&](std::span<const float> samples) {
    if (audio.empty()) kill(voice.helper_pid(), SIGKILL);
    audio.insert(audio.end(), samples.begin(), samples.end());
    return true;
  }));
  EXPECT_EQ(audio.size(), whole.size());
}

TEST_F(EspeakSynthesizerTest, CancelledSentenceLeavesNothingForTheNext) {
  EspeakSynthesizer voice({}), other({});  // espeak's pauses depend a little on what it said before
  speak(other, kLong);
  int chunks = 0;
  EXPECT_FALSE(voice.synthesize(kLong, [&](auto) { return ++chunks < 2; }));
  EXPECT_EQ(chunks, 2);
  EXPECT_EQ(speak(voice, kShort), speak(other, kShort));
}

TEST_F(EspeakSynthesizerTest, ThrowingCallbackLeavesNothingForTheNext) {
  EspeakSynthesizer voice({});
  const auto alone = speak(voice, kShort);
  EXPECT_THROW(voice.synthesize(kLong, [](auto) -> bool { throw Error("sink"); }), Error);
  EXPECT_EQ(speak(voice, kShort).size(), alone.size());
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

TEST_F(EspeakSynthesizerTest, UnknownVoiceSaysWhereToLook) {
  EXPECT_THAT([] { EspeakSynthesizer voice({.voice = "klingonese"}); },
              ThrowsMessage<UserError>(
                  testing::AllOf(HasSubstr("klingonese"), HasSubstr("espeak-ng --voices"))));
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

TEST(SpeakableText, KeepsWordsOnly) {
  EXPECT_EQ(speakable_text("  a\x01\n\nb\t c. \n"), "a b c.");
  EXPECT_EQ(speakable_text("\u4f60\xff\u597d"), "\u4f60\u597d");
  EXPECT_EQ(speakable_text("-- !"), "");
  EXPECT_EQ(count_characters("a\u4f60."), 3);
}

}  // namespace
}  // namespace predgen
