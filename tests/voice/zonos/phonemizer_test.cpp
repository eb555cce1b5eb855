#include "voice/zonos/phonemizer.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "core/error.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ZonosLanguages, AreNumberedAsTheModelWasTrained) {
  const auto& languages = zonos_languages();
  EXPECT_EQ(languages.size(), 109u);
  EXPECT_EQ(std::set(languages.begin(), languages.end()).size(), 109u);
  EXPECT_EQ(language_id("af"), 0);
  EXPECT_EQ(language_id("cmn"), 12);
  EXPECT_EQ(language_id("de"), 16);
  EXPECT_EQ(language_id("en-us"), 24);
  EXPECT_EQ(language_id("es"), 26);
  EXPECT_EQ(language_id("fr-fr"), 35);
  EXPECT_EQ(language_id("yue"), 108);
}

TEST(ZonosLanguages, UnknownCodeNamesTheNearest) {
  const auto asking = [](const char* code) { return [code] { language_id(code); }; };
  EXPECT_THAT(asking("en-uk"), ThrowsMessage<UserError>(HasSubstr("did you mean \"en-us\"?")));
  EXPECT_THAT(asking("EN-US"), ThrowsMessage<UserError>(HasSubstr("did you mean \"en-us\"?")));
  EXPECT_THAT(asking("en"), ThrowsMessage<UserError>(HasSubstr("en-gb-x-rp, en-us")));
  EXPECT_THAT(asking("FR"), ThrowsMessage<UserError>(HasSubstr("fr-be, fr-ch, fr-fr")));
  EXPECT_THAT(asking("klingonese"), ThrowsMessage<UserError>(HasSubstr("fr-fr")));
  EXPECT_THAT(asking(""), ThrowsMessage<UserError>(HasSubstr("\"\"")));
}

using testing::ElementsAre;

TEST(ZonosSymbols, HaveTheirIds) {
  EXPECT_EQ(ZonosSymbols::id(U';'), 4);
  EXPECT_EQ(ZonosSymbols::id(U' '), 21);
  EXPECT_EQ(ZonosSymbols::id(U'-'), 24);
  EXPECT_EQ(ZonosSymbols::id(U'&'), 27);
  EXPECT_EQ(ZonosSymbols::id(U'A'), 28);
  EXPECT_EQ(ZonosSymbols::id(U'z'), 79);
  EXPECT_EQ(ZonosSymbols::id(0x0251), 80);
  EXPECT_EQ(ZonosSymbols::id(0x02C8), 167);
  EXPECT_EQ(ZonosSymbols::id(0x2198), 184);
  EXPECT_EQ(ZonosSymbols::id(0x1D7B), 188);
}

TEST(ZonosSymbols, ApostropheHasItsLaterId) { EXPECT_EQ(ZonosSymbols::id(U'\''), 187); }

TEST(ZonosSymbols, UnknownCharactersKeepTheirPlace) {
  for (const char32_t c : {0x0303, 0x35, 0x2019, 0x4F60, 0x1F600, 0x5F, 0xA}) {
    EXPECT_EQ(ZonosSymbols::id(c), ZonosSymbols::kUnknown) << static_cast<uint32_t>(c);
  }
  EXPECT_THAT(phoneme_ids("a\u03035"), ElementsAre(2, 54, 1, 1, 3));
}

TEST(ZonosSymbols, EveryRowButOneIsUsed) {
  std::set<int64_t> ids;
  for (char32_t c = 0; c < 0x20000; ++c) ids.insert(ZonosSymbols::id(c));
  EXPECT_EQ(ids.size(), 185u);  // 4 to 188 but 185, and kUnknown
  EXPECT_FALSE(ids.contains(185));
  EXPECT_EQ(*ids.rbegin(), ZonosSymbols::kCount - 1);
}

TEST(ZonosSymbols, MarksAreTwentyFourAndTheSpaceIsOne) {
  int marks = 0;
  for (char32_t c = 0; c < 0x20000; ++c) marks += ZonosSymbols::is_mark(c);
  EXPECT_EQ(marks, 24);
  EXPECT_TRUE(ZonosSymbols::is_mark(U' '));
  EXPECT_FALSE(ZonosSymbols::is_mark(U'\''));
  EXPECT_FALSE(ZonosSymbols::is_mark(U'\n'));
}

TEST(PhonemeIds, BeginAndEnd) {
  EXPECT_THAT(phoneme_ids(""), ElementsAre(2, 3));
  EXPECT_THAT(phoneme_ids("\u0250 b\u02c8i\u02d0"), ElementsAre(2, 81, 21, 55, 167, 62, 169, 3));
}

/// Words in brackets.
std::string spelt(std::string_view text) {
  std::string result;
  for (const TextPiece& piece : split_words(text)) {
    result += piece.is_word ? "[" + piece.text + "]" : piece.text;
  }
  return result;
}

TEST(SplitWords, AtRunsThatHoldAMark) {
  EXPECT_EQ(spelt("Hello, world!"), "[Hello], [world]!");
  EXPECT_EQ(spelt("  a  b  "), "  [a]  [b]  ");
  EXPECT_EQ(spelt("isn't \"here\" (yet)..."), "[isn't] \"[here]\" ([yet])...");
  EXPECT_EQ(spelt("well-known/e-mail\\x&y~z*w"), "[well]-[known]/[e]-[mail]\\[x]&[y]~[z]*[w]");
  EXPECT_EQ(spelt("\u00ab\u00a0oui\u00a0\u00bb"), "\u00ab\u00a0[oui]\u00a0\u00bb");
  EXPECT_EQ(spelt("..."), "...");
  EXPECT_EQ(spelt(""), "");
}

TEST(SplitWords, WhiteSpaceWithoutAMarkStaysInItsWord) {
  EXPECT_EQ(spelt("A\nB\tC"), "[A\nB\tC]");
  EXPECT_EQ(spelt("A\n B"), "[A]\n [B]");
  EXPECT_EQ(spelt("A\x1c\u2003"
                  "B,\nC"),
            "[A\x1c\u2003"
            "B],\n[C]");
  EXPECT_EQ(spelt("\n"), "[\n]");
}

TEST(CleanPhonemes, JoinsPhonemesAndTrims) {
  EXPECT_EQ(clean_phonemes(" h_\u0259_l\u02c8_o\u028a \n"), "h\u0259l\u02c8o\u028a");
  EXPECT_EQ(clean_phonemes("a_b  c\nd"), "ab c d");
  EXPECT_EQ(clean_phonemes("a   b"), "a  b") << "one pass over pairs";
  EXPECT_EQ(clean_phonemes("a _"), "a ");
  EXPECT_EQ(clean_phonemes("(en)f_\u028a(fr)"), "(en)f\u028a(fr)");
  EXPECT_EQ(clean_phonemes(""), "");
}

/// The real helper, where it was built beside this program.
struct PhonemizerTest : testing::Test {
  void SetUp() override {
    program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-espeak";
    if (!std::filesystem::exists(program)) {
      GTEST_SKIP() << "predgen-espeak was not built (PREDGEN_ESPEAK=OFF)";
    }
  }

  /// Phonemes differ between versions of espeak-ng.
  std::string version() const {
    FILE* const pipe = popen((program.string() + " --version").c_str(), "r");
    char line[64] = "";
    EXPECT_NE(fgets(line, sizeof line, pipe), nullptr);
    pclose(pipe);
    return std::string(line, strcspn(line, " \n"));
  }

  std::filesystem::path program;
};

TEST_F(PhonemizerTest, PronouncesWordByWord) {
  Phonemizer phonemizer({});
  if (version() != "1.51") GTEST_SKIP() << "espeak-ng is version " << version() << ", not 1.51";
  const auto english = [&](const char* text) { return phonemizer.phonemes(text, "en-us"); };
  EXPECT_EQ(english("the apple"), "\u00f0\u0259 \u02c8\u00e6p\u0259l");
  EXPECT_EQ(english("  leading and trailing  "),
            "  l\u02c8i\u02d0d\u026a\u014b \u00e6nd t\u0279\u02c8e\u026al\u026a\u014b  ");
  EXPECT_EQ(english("?! ..."), "?! ...");
  EXPECT_THAT(phonemizer.phoneme_ids("A\nB\tC", "en-us"),
              ElementsAre(2, 81, 21, 55, 167, 62, 169, 21, 72, 167, 62, 169, 3));
}

TEST_F(PhonemizerTest, NumbersAreEnglishWordsUnlessSwitchedOff) {
  Phonemizer english({}), none({.english_numbers = false});
  for (const char* language : {"en-us", "de", "fr-fr"}) {
    EXPECT_EQ(english.phonemes("21 7", language), english.phonemes("twenty-one seven", language));
    EXPECT_EQ(none.phonemes("zwei", language), english.phonemes("zwei", language));
  }
  EXPECT_EQ(none.phonemes("7", "de"), english.phonemes("sieben", "de"));
  EXPECT_NE(english.phonemes("21", "de"), none.phonemes("21", "de"));
}

TEST_F(PhonemizerTest, GoldenPhonemesAndIds) {
  Phonemizer phonemizer({});
  if (version() != "1.51") GTEST_SKIP() << "espeak-ng is version " << version() << ", not 1.51";
  const Json golden = read_json("tests/voice/golden/phonemes_espeak_1.51.json");
  EXPECT_GE(golden.size(), 17u);
  for (const Json& row : golden) {
    const auto text = row.at("text").get<std::string>();
    const auto language = row.at("lang").get<std::string>();
    EXPECT_EQ(phonemizer.phonemes(text, language), row.at("phonemes")) << text;
    EXPECT_EQ(phonemizer.phoneme_ids(text, language), row.at("ids").get<std::vector<int64_t>>())
        << text;
  }
}

TEST_F(PhonemizerTest, EveryLanguageButJapaneseHasAVoice) {
  Phonemizer phonemizer({});
  for (const std::string& language : zonos_languages()) {
    if (language == "ja") continue;
    EXPECT_NO_THROW(phonemizer.phonemes("a", language)) << language;
  }
}

TEST_F(PhonemizerTest, WarnsOnceOfChineseThatEspeakCannotRead) {
  Phonemizer phonemizer({});
  if (version() != "1.51") GTEST_SKIP() << "espeak-ng is version " << version() << ", not 1.51";
  const auto output_of = [&](const char* language) {
    testing::internal::CaptureStdout();
    phonemizer.phonemes("a", language);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(output_of("yue"), "");
  EXPECT_THAT(output_of("cmn"), HasSubstr("cmn"));
  EXPECT_EQ(output_of("cmn"), "");
}

TEST_F(PhonemizerTest, BadTextAndLanguageAreUserErrors) {
  Phonemizer phonemizer({});
  const auto asking = [&](const char* text, const char* language) {
    return [&phonemizer, text, language] { phonemizer.phonemes(text, language); };
  };
  EXPECT_THAT(asking("", "en-us"), ThrowsMessage<UserError>(HasSubstr("empty")));
  EXPECT_THAT(asking("a\xff", "en-us"), ThrowsMessage<UserError>(HasSubstr("UTF-8")));
  EXPECT_THAT(asking("a", "en-uk"), ThrowsMessage<UserError>(HasSubstr("en-us")));
  EXPECT_THAT(
      asking("\u30ab\u30bf\u30ab\u30ca", "ja"),
      ThrowsMessage<UserError>(testing::AllOf(HasSubstr("Japanese"), HasSubstr("--tts espeak"))));
  EXPECT_NO_THROW(phonemizer.phonemes("a", "en-us"));
}

TEST_F(PhonemizerTest, LongAndOddTextIsPronounced) {
  Phonemizer phonemizer({});
  const std::string expected = phonemizer.phonemes("fine", "en-us");
  EXPECT_FALSE(phonemizer.phonemes(std::string(10000, 'a'), "en-us").empty());
  EXPECT_FALSE(phonemizer.phonemes(std::string(50, '9'), "en-us").empty());
  EXPECT_NO_THROW(phonemizer.phonemes(std::string("a\0b", 3), "en-us"));
  EXPECT_NO_THROW(phonemizer.phonemes("\U0001F600\u0301\u200d", "en-us"));
  EXPECT_EQ(phonemizer.phonemes("fine", "en-us"), expected);
}

TEST_F(PhonemizerTest, UnknownLettersLeaveNoTrace) {
  Phonemizer phonemizer({.helper = program});
  const std::string before = phonemizer.phonemes("letter", "en-us");
  phonemizer.phonemes("\u314b \ua800", "en-us");  // Hangul, then a letter without a reading
  EXPECT_EQ(phonemizer.phonemes("letter", "en-us"), before);
}

TEST(Phonemizer, MissingHelperIsAUserError) {
  EXPECT_THAT([] { Phonemizer phonemizer({.helper = "/no/helper"}); },
              ThrowsMessage<UserError>(testing::AllOf(HasSubstr("Zonos"), HasSubstr("/no/helper"),
                                                      HasSubstr("-DPREDGEN_ESPEAK=ON"))));
}

}  // namespace
}  // namespace predgen
