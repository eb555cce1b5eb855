#include "voice/hibari/hibari_alphabet.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HibariPhonemes, DiphthongsAndAffricatesAreOneLetter) {
  EXPECT_EQ(hibari_phonemes("a\u026Am a\u028At e\u026A o\u028A \u0254\u026A"), "Im Wt A O Y");
  EXPECT_EQ(hibari_phonemes("d\u0292\u02C8\u028Cd\u0292 t\u0283\u02C8\u025C\u02D0t\u0283."),
            "\u02A4\u02C8\u028C\u02A4 \u02A7\u02C8\u025C\u0279\u02A7.");
}

TEST(HibariPhonemes, LengthsGo) {
  EXPECT_EQ(hibari_phonemes("m\u02C8u\u02D0vi\u02D0 f\u02C8o\u02D0\u0279"),
            "m\u02C8uvi f\u02C8\u0254\u0279");
}

TEST(HibariPhonemes, VowelsBeforeR) {
  EXPECT_EQ(
      hibari_phonemes("b\u02C8\u025C\u02D0\u0279d w\u02C8\u0254\u02D0t\u025A h\u02C8i\u0259\u0279"),
      "b\u02C8\u025C\u0279d w\u02C8\u0254t\u0259\u0279 h\u02C8\u026A\u0279");
  EXPECT_EQ(hibari_phonemes("s\u02C8\u025Bnt\u025A\u0279 \u028Cv"),
            "s\u02C8\u025Bnt\u0259\u0279 \u028Cv");
}

TEST(HibariPhonemes, FlapsWithinWordsOnly) {
  EXPECT_EQ(hibari_phonemes("s\u02C8\u026A\u027Ei \u026A\u027E \u02C8\u028Cp"),
            "s\u02C8\u026ATi \u026At \u02C8\u028Cp");
}

TEST(HibariPhonemes, SyllablesWithoutAVowel) {
  EXPECT_EQ(hibari_phonemes("l_\u02C8\u026A_\u027E_\u0259l b_\u02C8\u028C_\u0294_n\u0329"),
            "l\u02C8\u026AT\u1D4Al b\u02C8\u028Ct\u1D4An");
  EXPECT_EQ(hibari_phonemes("h_\u0259_l_\u02C8o\u028A"), "h\u0259l\u02C8O") << "that has one";
}

TEST(HibariPhonemes, TheArticleKeepsItsVowel) {
  EXPECT_EQ(hibari_phonemes("\u0250 b\u028Ak \u0250b\u02C8a\u028At \u0250"),
            "\u0250 b\u028Ak \u0259b\u02C8Wt \u0250");
}

TEST(HibariPhonemes, ThePronounHasAStressAndTheArticleItsOwnWord) {
  EXPECT_EQ(hibari_phonemes("a\u026A \u026An\u00F0\u0259 s\u028Cn"),
            "\u02CCI \u026An \u00F0\u0259 s\u028Cn");
}

TEST(HibariPhonemes, MarksAndBlanksStay) {
  EXPECT_EQ(hibari_phonemes("b, d? \u2014"), "b, d? \u2014");
  EXPECT_EQ(hibari_phonemes(""), "");
}

struct HibariAlphabetTest : testing::Test {
  HibariAlphabet alphabet(const std::string& vocabulary) const {
    write_file(folder / "vocab.json", vocabulary);
    return HibariAlphabet(folder / "vocab.json");
  }
  TemporaryFolder folder;
};

TEST_F(HibariAlphabetTest, IdsHaveAZeroAtBothEnds) {
  const HibariAlphabet letters = alphabet(R"({"a": 5, "\u0259": 7, " ": 16, ".": 4})");
  EXPECT_THAT(letters.ids("a \u0259."), ElementsAre(0, 5, 16, 7, 4, 0));
}

TEST_F(HibariAlphabetTest, UnknownCharactersAreLeftOut) {
  const HibariAlphabet letters = alphabet(R"({"a": 5})");
  EXPECT_THAT(letters.ids("xa\u0283a"), ElementsAre(0, 5, 5, 0));
  EXPECT_THAT(letters.ids("x\u0283"), IsEmpty());
  EXPECT_THAT(letters.ids(""), IsEmpty());
}

TEST_F(HibariAlphabetTest, FilesThatAreNoVocabularyAreUserErrors) {
  expect_user_error([] { HibariAlphabet("/nowhere/vocab.json"); }, {"/nowhere/vocab.json"});
  for (const char* wrong : {"[]", "{}", "5", R"({"ab": 1})", R"({"": 1})", R"({"a": "1"})",
                            R"({"a": 0})", R"({"a": 1.5})", R"({"a": -3})"}) {
    expect_user_error([&] { alphabet(wrong); }, {"vocab.json", "no vocabulary of Hibari"});
  }
  expect_user_error([&] { alphabet("{"); }, {"vocab.json"});
}

}  // namespace
}  // namespace predgen
