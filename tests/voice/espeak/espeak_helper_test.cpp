#include "voice/espeak/espeak_helper.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "core/error.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Type = EspeakFrame::Type;

/// Sends what a client should not send, and then a good request.
struct EspeakHelperTest : testing::Test {
  void SetUp() override {
    program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-espeak";
    if (!std::filesystem::exists(program)) {
      GTEST_SKIP() << "predgen-espeak was not built (PREDGEN_ESPEAK=OFF)";
    }
  }

  static std::string answer(EspeakHelper& helper, const Json& request) {
    EXPECT_TRUE(helper.request(request));
    std::string payload;
    while (const auto frame = helper.receive()) {
      if (frame->type == Type::kDone) return payload;
      payload += frame->payload;
    }
    return "the helper ended";
  }

  /// The types of the frames that come for a line, without their contents but those of errors.
  std::string frames(const std::string& line) const {
    HelperProcess process(program);
    EXPECT_TRUE(process.send(line, Seconds(5)));
    std::string types;
    while (types.empty() || std::string_view("DVE").find(types.back()) == std::string::npos) {
      char header[5];
      if (!process.receive(header, Seconds(5))) return types + " ended";
      uint32_t length = 0;
      memcpy(&length, header + 1, sizeof length);
      std::string payload(length, '\0');
      if (!process.receive(payload, Seconds(5))) return types + " cut";
      types += header[0];
    }
    return types;
  }

  std::filesystem::path program;
};

const Json kGood{{"words", {"hello"}}, {"language", "en-us"}};

TEST_F(EspeakHelperTest, AnswersAWordForAWord) {
  EspeakHelper helper({}, Seconds(5), "this test");
  EXPECT_EQ(helper.pid(), -1);
  const Json words = Json::parse(
      answer(helper, {{"words", {"and", "", "isn't", "a.b", "x\u0001"}}, {"language", "en-us"}}));
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[0], "\u00e6_n_d");
  EXPECT_EQ(words[1], "");
  EXPECT_GT(helper.pid(), 0);
  EXPECT_GE(helper.sample_rate(), 16000);
}

TEST_F(EspeakHelperTest, BadLinesAreErrorsAndTheNextIsAnswered) {
  for (const std::string line :
       {"{\"words\": [\"a\"", "[]", "17", "\"words\"", "", "{}", "\xff\xfe", "{\"words\": 5}",
        R"({"words": ["a"]})", R"({"words": [5], "language": "en-us"})",
        R"({"words": ["a"], "language": 7})", R"({"text": "a", "voice": "en-us"})",
        R"({"text": "a", "voice": "en-us", "rate": "fast", "pitch": 50})"}) {
    EXPECT_EQ(frames(line + "\n"), "RE") << line;
    EXPECT_EQ(frames(line + "\n" + kGood.dump() + "\n"), "RE") << line;
  }
  HelperProcess process(program);
  ASSERT_TRUE(process.send("{\n" + kGood.dump() + "\n", Seconds(5)));
  std::string bytes(5 + 4, '\0');
  ASSERT_TRUE(process.receive(bytes, Seconds(5)));
  EXPECT_EQ(bytes[0], 'R');
  bytes.resize(5);
  ASSERT_TRUE(process.receive(bytes, Seconds(5)));
  EXPECT_EQ(bytes[0], 'E');
  bytes.resize(static_cast<unsigned char>(bytes[1]) + 256 * static_cast<unsigned char>(bytes[2]));
  ASSERT_TRUE(process.receive(bytes, Seconds(5)));
  bytes.resize(5);
  ASSERT_TRUE(process.receive(bytes, Seconds(5)));
  EXPECT_EQ(bytes[0], 'P');
}

TEST_F(EspeakHelperTest, UnknownLanguageAndVoiceAreFramesOfTheirOwn) {
  EXPECT_EQ(frames(R"({"words": ["a"], "language": "tlh"})"
                   "\n"),
            "RV");
  EXPECT_EQ(frames(R"({"words": [], "language": ""})"
                   "\n"),
            "RV");
  EXPECT_EQ(frames(R"({"text": "", "voice": "klingonese", "rate": 175, "pitch": 50})"
                   "\n"),
            "RV");
  EspeakHelper helper({}, Seconds(5), "this test");
  ASSERT_TRUE(helper.request({{"words", {"a"}}, {"language", "tlh"}}));
  EXPECT_THAT([&] { helper.receive(); }, ThrowsMessage<UserError>(HasSubstr("tlh")));
  EXPECT_THAT(answer(helper, kGood), HasSubstr("h_"));
}

TEST_F(EspeakHelperTest, LongAndOddWordsAreAnswered) {
  EspeakHelper helper({}, Seconds(20), "this test");
  std::string accents, pictures, many;
  for (int i = 0; i < 5000; ++i) {
    accents += "\u0301";
    pictures += "\U0001F600";
    many += "a.b!";
  }
  const Json words{std::string(10000, 'a'),
                   std::string(10000, '7'),
                   std::string(10000, '\''),
                   accents,
                   pictures,
                   many};
  for (const char* language : {"en-us", "de", "cmn", "fr-fr"}) {
    const Json answers = Json::parse(answer(helper, {{"words", words}, {"language", language}}));
    EXPECT_EQ(answers.size(), words.size()) << language;
  }
  EXPECT_THAT(answer(helper, kGood), HasSubstr("h_"));
}

TEST_F(EspeakHelperTest, DottedLettersDoNotOverflowItsBuffers) {
  EspeakHelper helper({}, Seconds(20), "this test");
  const auto repeated = [](const std::string& text) {
    std::string many;
    for (int i = 0; i < 100; ++i) many += text;
    return many;
  };
  for (const char* piece :
       {"a.", "a . ", "a.a.a. ", "\u044f.", "7.b.", "(a.)", "a.'s ", "a\u00a0."}) {
    const std::string text = repeated(piece);
    for (const Json& request :
         {Json{{"words", {text}}, {"language", "en-us"}},
          Json{{"text", text}, {"voice", "en-us"}, {"rate", 175}, {"pitch", 50}}}) {
      EXPECT_NE(answer(helper, request), "the helper ended") << piece;
    }
  }
  // As ever: a blank would part its phonemes.
  const Json short_one =
      Json::parse(answer(helper, {{"words", {"U.S.A."}}, {"language", "en-us"}}));
  EXPECT_EQ(short_one[0].get<std::string>().find(' '), std::string::npos) << short_one;
}

TEST_F(EspeakHelperTest, AVoiceIsANameAndNeverAPath) {
  const auto is_known = [&](const std::string& voice) {
    const Json request{{"text", ""}, {"voice", voice}, {"rate", 175}, {"pitch", 50}};
    return frames(request.dump() + "\n") == "RD";
  };
  for (const char* name : {"en-us", "EN-us", "gmw/en-US", "English (America)", "de", "en-us+f3",
                           "en-gb", "English_(America)"}) {
    EXPECT_TRUE(is_known(name)) << name;
  }
  for (const char* name :
       {"../lang/gmw/de", "gmw/../gmw/de", "/usr/lib/x", "en-us+../../lang/gmw/de", "f3", "!v/f3",
        "en-us+nobody", "de+", "", "_"}) {
    EXPECT_FALSE(is_known(name)) << name;
  }
  EspeakHelper helper({}, Seconds(5), "this test");
  ASSERT_TRUE(helper.request(
      {{"text", ""}, {"voice", std::string(100'000, 'x')}, {"rate", 175}, {"pitch", 50}}));
  EXPECT_THAT([&] { helper.receive(); },
              ThrowsMessage<UserError>(testing::SizeIs(testing::Lt(300u))));
}

TEST_F(EspeakHelperTest, AnAnswerThatNobodyReadIsDropped) {
  EspeakHelper helper({}, Seconds(5), "this test");
  const std::string expected = answer(helper, kGood);
  const pid_t pid = helper.pid();
  ASSERT_TRUE(helper.request(
      {{"text", "One long sentence."}, {"voice", "en-us"}, {"rate", 175}, {"pitch", 50}}));
  ASSERT_EQ(helper.receive()->type, Type::kAudio);
  EXPECT_EQ(answer(helper, kGood), expected);
  ASSERT_TRUE(helper.request({{"words", {"a"}}, {"language", "tlh"}}));
  EXPECT_EQ(answer(helper, kGood), expected);
  EXPECT_EQ(helper.pid(), pid);
}

TEST_F(EspeakHelperTest, EndsAreSeenAndItStartsAgain) {
  EspeakHelper helper({}, Seconds(5), "this test");
  const std::string expected = answer(helper, kGood);
  kill(helper.pid(), SIGKILL);
  const bool sent = helper.request(kGood);
  EXPECT_FALSE(sent && helper.receive());
  EXPECT_EQ(helper.pid(), -1);
  EXPECT_EQ(answer(helper, kGood), expected);
}

TEST(EspeakHelper, MissingProgramNamesItsUser) {
  EXPECT_THAT(
      [] { EspeakHelper("/no/helper", Seconds(1), "the Zonos voice"); },
      ThrowsMessage<UserError>(testing::AllOf(HasSubstr("the Zonos voice"), HasSubstr("/no/helper"),
                                              HasSubstr("-DPREDGEN_ESPEAK=ON"))));
}

using testing::ElementsAre;

struct EspeakPhonemesTest : EspeakTest {
  EspeakPhonemes* real() { return &espeak.emplace("", Seconds(10), "this test"); }
  std::optional<EspeakPhonemes> espeak;
};

TEST_F(EspeakPhonemesTest, SaysWordsAloneAndClausesTogether) {
  const auto pronounced = real()->pronounce({"the", "apple", "the apple"}, "en-us");
  ASSERT_EQ(pronounced.size(), 3U);
  EXPECT_THAT(pronounced[0], HasSubstr("\u0259"));
  EXPECT_THAT(pronounced[2], testing::Not(HasSubstr(pronounced[0]))) << "before a vowel";
}

TEST_F(EspeakPhonemesTest, KnowsLanguagesByTheNamesOfVoicesToo) {
  real();
  EXPECT_EQ(espeak->pronounce({"bonjour"}, "fr"), espeak->pronounce({"bonjour"}, "fr-fr"));
  EXPECT_NE(espeak->pronounce({"bonjour"}, "fr"), espeak->pronounce({"bonjour"}, "en-us"));
  for (const char* language : {"", "tlh", "../fr", "+f3"}) {
    expect_user_error([&] { espeak->pronounce({"a"}, language); }, {"espeak-ng --voices"});
  }
}

/// A helper that ends at its first request as often as there are files called 1, 2 .. in its
/// folder.
std::filesystem::path mortal_helper(const TemporaryFolder& folder, int deaths) {
  for (int i = 1; i <= deaths; ++i) std::ofstream(folder / std::to_string(i)) << "x";
  const auto helper = folder / "helper";
  std::ofstream(helper) << R"(#!/bin/bash
cd ")" << folder.path().string()
                        << R"("
printf 'R\x04\0\0\0\x22\x56\0\0'
while read -r line; do
  for death in 1 2; do
    if [ -e $death ]; then rm $death; exit; fi
  done
  printf 'P\x05\0\0\0["a"]D\0\0\0\0'
done
)";
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  return helper;
}

TEST(EspeakPhonemes, AHelperThatEndsIsStartedAgainOnce) {
  const TemporaryFolder once, twice;
  EspeakPhonemes mended(mortal_helper(once, 1), Seconds(10), "this test");
  EXPECT_THAT(mended.pronounce({"word"}, "en-us"), ElementsAre("a"));
  EspeakPhonemes broken(mortal_helper(twice, 2), Seconds(10), "this test");
  EXPECT_THAT(
      [&] { broken.pronounce({"word"}, "en-us"); },
      ThrowsMessage<Error>(testing::AllOf(HasSubstr("1 part"), testing::Not(HasSubstr("word")))));
}

TEST(EspeakPhonemes, AnswersOfAnotherNumberAreErrors) {
  const TemporaryFolder folder;
  EspeakPhonemes espeak(mortal_helper(folder, 0), Seconds(10), "this test");
  EXPECT_THAT(
      [&] {
        espeak.pronounce({"one", "two"}, "en-us");
      },
      ThrowsMessage<Error>(HasSubstr("1 of 2 words")));
}

TEST(EspeakPhonemes, AMissingHelperIsAUserError) {
  expect_user_error([] { EspeakPhonemes("/no/helper", Seconds(1), "this test"); },
                    {"this test", "/no/helper"});
}

}  // namespace
}  // namespace predgen
