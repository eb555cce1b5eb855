#include "voice/espeak/espeak_phonemes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <optional>

#include "core/error.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

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
