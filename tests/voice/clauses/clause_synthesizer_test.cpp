#include "voice/clauses/clause_synthesizer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

constexpr int kPerSecond = 1000;  // samples are milliseconds
constexpr size_t kLead = 30;

/// Quiet, loud for a while, quiet: with a moment of silence in the loud part.
std::vector<float> piece(size_t before, size_t loud, size_t behind) {
  std::vector<float> sound(before, 0.0005F);
  sound.insert(sound.end(), loud, 0.5F);
  sound[before + loud / 2] = 0;
  sound.insert(sound.end(), behind, -0.0005F);
  return sound;
}

std::vector<float> spoken(const std::vector<float>& sound, size_t step, double pause) {
  QuietEdges edges(kPerSecond);
  std::vector<float> samples;
  for (size_t at = 0; at < sound.size(); at += step) {
    edges.push(std::span(sound).subspan(at, std::min(step, sound.size() - at)), samples);
  }
  edges.end(Seconds(pause), samples);
  return samples;
}

TEST(QuietEdges, KeepsAMomentAtTheFrontAndThePauseAtTheEnd) {
  const auto samples = spoken(piece(300, 100, 500), 1000, 0.2);
  ASSERT_EQ(samples.size(), kLead + 100 + 200);
  EXPECT_EQ(samples[0], 0.0005F);
  EXPECT_EQ(samples[kLead], 0.5F);
  EXPECT_EQ(samples[kLead + 50], 0) << "silence within the sound stays";
  EXPECT_EQ(samples[kLead + 99], 0.5F);
  EXPECT_EQ(samples.back(), -0.0005F);
}

TEST(QuietEdges, TheSizeOfPiecesDoesNotMatter) {
  const auto sound = piece(300, 100, 500);
  for (const size_t step : {1U, 7U, 299U, 301U}) {
    EXPECT_EQ(spoken(sound, step, 0.2), spoken(sound, 1000, 0.2)) << step;
  }
}

TEST(QuietEdges, APauseThatIsLongerThanTheSilenceIsFilled) {
  const auto samples = spoken(piece(10, 100, 50), 1000, 0.2);
  ASSERT_EQ(samples.size(), 10U + 100 + 200);
  EXPECT_EQ(samples[10 + 100 + 49], -0.0005F);
  EXPECT_EQ(samples.back(), 0);
}

TEST(QuietEdges, SilenceAloneIsLeftOutAndTheNextPieceIsAsTheFirst) {
  QuietEdges edges(kPerSecond);
  std::vector<float> samples;
  edges.push(std::vector<float>(400, 0), samples);
  edges.end(Seconds(0.2), samples);
  EXPECT_TRUE(samples.empty());
  edges.push(piece(300, 10, 0), samples);
  EXPECT_EQ(samples.size(), kLead + 10);
}

TEST(PauseBehind, IsLongestBehindASentence) {
  EXPECT_LT(pause_behind(""), pause_behind(","));
  EXPECT_EQ(pause_behind(","), pause_behind("\u2014"));
  EXPECT_LT(pause_behind(","), pause_behind(":"));
  EXPECT_LT(pause_behind(";"), pause_behind("."));
  EXPECT_EQ(pause_behind("?"), pause_behind("\u2026"));
}

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kRate = 1000;
constexpr size_t kStep = 50;  // samples

/// Says every piece in three steps, a step a moment of sound, with silence around all of it.
class FakeNetwork : public PhonemeNetwork {
 public:
  int sample_rate() const override { return kRate; }
  int64_t longest_piece() const override { return longest; }
  std::unique_ptr<Synthesis> speak(const std::string& phonemes) const override {
    if (phonemes.find(unknown) != std::string::npos) return nullptr;
    pieces.push_back(phonemes);
    return std::make_unique<Piece>();
  }

  int64_t longest = 100;
  std::string unknown = "nothing";
  mutable std::vector<std::string> pieces;

 private:
  struct Piece : Synthesis {
    bool advance(std::vector<float>& samples) override {
      samples.insert(samples.end(), kStep, step == 1 ? 0.5F : 0.0F);
      return ++step < 3;
    }
    int step = 0;
  };
};

struct ClauseSynthesizerTest : EspeakTest {
  std::shared_ptr<FakeNetwork> network = std::make_shared<FakeNetwork>();
  ClauseOptions options{.user = "the voice of a test", .language = "en-us"};
};

TEST_F(ClauseSynthesizerTest, SaysClauseByClauseWithTheirPhonemesAndMarks) {
  ClauseSynthesizer voice(network, options);
  EXPECT_EQ(voice.sample_rate(), kRate);
  EXPECT_EQ(voice.language(), "en-us");
  const auto samples = speak(voice, "Hello there, my dear old friend, what is it that you want?");
  ASSERT_EQ(network->pieces.size(), 2U);
  EXPECT_THAT(network->pieces[0],
              testing::StartsWith("h_\u0259_l_\u02C8o\u028A \u00F0_\u02C8\u025B\u0279, "));
  EXPECT_THAT(network->pieces[0], testing::EndsWith("f_\u0279_\u02C8\u025B_n_d,"));
  EXPECT_THAT(network->pieces[1], testing::EndsWith("?"));
  // A lead, the sound and the pause of a clause, and those of a sentence.
  EXPECT_EQ(samples.size(), 30 + kStep + 200 + 30 + kStep + 400);
}

TEST_F(ClauseSynthesizerTest, StepsAreShortAndOneMayBeTheLast) {
  ClauseSynthesizer voice(network, options);
  const auto synthesis = voice.begin("Hello.");
  std::vector<float> samples;
  EXPECT_TRUE(synthesis->advance(samples)) << "phonemes";
  EXPECT_TRUE(network->pieces.empty());
  EXPECT_TRUE(synthesis->advance(samples)) << "silence, which is not said";
  EXPECT_TRUE(samples.empty());
  EXPECT_TRUE(synthesis->advance(samples)) << "sound";
  EXPECT_EQ(samples.size(), 30 + kStep);
  EXPECT_FALSE(synthesis->advance(samples));
  EXPECT_EQ(samples.size(), 30 + kStep + 400);
  EXPECT_FALSE(synthesis->advance(samples)) << "complete stays complete";
  EXPECT_EQ(samples.size(), 30 + kStep + 400);
}

TEST_F(ClauseSynthesizerTest, NothingToSayIsNothing) {
  ClauseSynthesizer voice(network, options);
  for (const char* text : {"", " \n", "...", "?!", "\u2014", "\x01\x02"}) {
    EXPECT_TRUE(speak(voice, text).empty()) << text;
  }
  EXPECT_TRUE(network->pieces.empty());
  EXPECT_FALSE(speak(voice, "5\xff").empty()) << "ill-formed UTF-8 is no reason to be silent";
}

TEST_F(ClauseSynthesizerTest, APieceThatTheNetworkDoesNotKnowIsLeftOutWithAWarning) {
  ClauseSynthesizer voice(network, options);
  network->unknown = "n_\u02C8o\u028A";
  testing::internal::CaptureStdout();
  const auto samples = speak(voice, "Yes. No. Perhaps.");
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::AllOf(HasSubstr("the voice of a test"), HasSubstr("left out"),
                             testing::Not(HasSubstr("Perhaps"))))
      << "a log does not tell what was said";
  EXPECT_EQ(network->pieces.size(), 2U);
  EXPECT_EQ(samples.size(), 2 * (30 + kStep + 400));
}

TEST_F(ClauseSynthesizerTest, LongTextIsSaidInPiecesOfWhatTheNetworkTakes) {
  ClauseSynthesizer voice(network, options);
  network->longest = 40;
  std::string text;
  while (text.size() < 2000) text += "word ";
  EXPECT_FALSE(speak(voice, text).empty());
  EXPECT_GT(network->pieces.size(), 30U);
  int64_t words = 0;
  for (const std::string& piece : network->pieces) {
    EXPECT_LE(piece.size(), 3 * 40U);
    words += std::ranges::count(piece, ' ') + 1;
  }
  EXPECT_EQ(words, 400);
  EXPECT_FALSE(speak(voice, std::string(2000, 'a')).empty()) << "no word at all";
  EXPECT_FALSE(speak(voice, std::string(200, '9')).empty()) << "digits are many words";
}

TEST_F(ClauseSynthesizerTest, CancelledSentencesLeaveNothingForTheNext) {
  ClauseSynthesizer voice(network, options);
  std::vector<float> samples;
  {
    const auto cancelled = voice.begin("Hello there.");
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(cancelled->advance(samples));
  }
  network->pieces.clear();
  EXPECT_EQ(speak(voice, "Hello.").size(), 30 + kStep + 400);
  EXPECT_THAT(network->pieces, ElementsAre("h_\u0259_l_\u02C8o\u028A."));
}

TEST_F(ClauseSynthesizerTest, SentencesMayBeAdvancedInTurn) {
  ClauseSynthesizer voice(network, options);
  const auto first = voice.begin("One. Two."), second = voice.begin("Three.");
  std::vector<float> first_samples, second_samples;
  for (bool one = true, two = true; one || two;) {
    if (one) one = first->advance(first_samples);
    if (two) two = second->advance(second_samples);
  }
  EXPECT_EQ(first_samples, speak(voice, "One. Two."));
  EXPECT_EQ(second_samples, speak(voice, "Three."));
}

TEST_F(ClauseSynthesizerTest, SpeaksTheLanguagesOfEspeakByTheNamesOfPiper) {
  const std::vector<std::string> languages{
      "ar",     "ca", "cs", "cy", "da", "de",    "el", "en-gb-x-rp", "en-us", "es",
      "es-419", "fa", "fi", "fr", "hu", "is",    "it", "ka",         "kk",    "lb",
      "lv",     "ne", "nl", "nb", "pl", "pt-br", "pt", "ro",         "ru",    "sk",
      "sl",     "sr", "sv", "sw", "tr", "uk",    "vi", "cmn",        "hi"};
  for (const std::string& language : languages) {
    options.language = language;
    ClauseSynthesizer voice(network, options);
    EXPECT_FALSE(speak(voice, "1").empty()) << language;
  }
}

TEST_F(ClauseSynthesizerTest, UnknownLanguagesAndMissingHelpersAreUserErrors) {
  const auto start = [&](const ClauseOptions& with) {
    return [this, with] { ClauseSynthesizer voice(network, with); };
  };
  options.language = "tlh";
  expect_user_error(start(options), {"tlh", "espeak-ng --voices"});
  options.espeak_helper = "/nowhere";
  expect_user_error(start(options), {"the voice of a test", "/nowhere"});
}

TEST_F(ClauseSynthesizerTest, TryOutFindsAVoiceWithoutSound) {
  ClauseSynthesizer voice(network, options);
  EXPECT_NO_THROW(try_out(voice, "Ready.", "fetch it again"));
  network->unknown = "\u0279_\u02C8\u025B_d_i";
  expect_user_error([&] { try_out(voice, "Ready.", "fetch it again"); },
                    {"no sound", "fetch it again"});
}

}  // namespace
}  // namespace predgen
