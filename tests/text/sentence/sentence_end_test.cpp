#include "text/sentence/sentence_end.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text.h"

namespace predgen {
namespace {

/// `text` with `|` where sentences end; a last part without `|` is not confirmed yet.
struct Case {
  const char* marked;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.marked; }

std::string unmarked(std::string text) {
  std::erase(text, '|');
  return text;
}

/// The end of the first sentence of `text`.
std::optional<size_t> find_sentence_end(std::string_view text, bool complete) {
  return SentenceEndFinder().next(text, complete);
}

std::string mark_ends(std::string_view text, bool complete) {
  std::string marked;
  while (const auto end = find_sentence_end(text, complete)) {
    marked += std::string(text.substr(0, *end)) + "|";
    text.remove_prefix(*end);
  }
  return marked + std::string(text);
}

class OpenText : public testing::TestWithParam<Case> {};

TEST_P(OpenText, EndsWhereMarked) {
  EXPECT_EQ(mark_ends(unmarked(GetParam().marked), false), GetParam().marked);
}

// An end that was reported for a beginning of the text must stay; streaming depends on it.
TEST_P(OpenText, EndNeverMovesAsTextGrows) {
  const std::string text = unmarked(GetParam().marked);
  std::optional<size_t> first;
  for (size_t n = 0; n <= text.size(); ++n) {
    if (!begins_character(text[n])) continue;
    const auto end = find_sentence_end(std::string_view(text).substr(0, n), false);
    if (first) {
      EXPECT_EQ(end, first) << "after " << n << " bytes";
    }
    if (!first) first = end;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, OpenText,
    testing::Values(
        // An end needs one more character.
        Case{""}, Case{"   "}, Case{"Hello"}, Case{"Hello."}, Case{"Hello.| "}, Case{"Really?"},
        Case{"Really?| "}, Case{"Stop!"}, Case{"Stop!|\n"}, Case{"One.| Two.| Three"},
        Case{"I see, well: no; end.| Next"}, Case{"  Leading space.| Next"},
        // Abbreviations.
        Case{"Dr. Smith is in.| He waits"}, Case{"Mr. and Mrs. Jones left.| Ok"},
        Case{"Ms. Lee and Prof. Wu.| So"}, Case{"Ask dr. smith.| He"}, Case{"Gen. Grant won.| He"},
        Case{"St. Louis is far.| It"}, Case{"It is at 168 Hamilton St.| It opens"},
        Case{"It is 5 Oak Ave. near you.| Ok"}, Case{"It is 5 Oak Ave.| Next"},
        Case{"Pets, e.g. cats.| Dogs"}, Case{"The last, i.e. Monday, is it.| Go"},
        Case{"Pens, paper etc. are here.| Take"}, Case{"Pens, paper etc.| Take one"},
        Case{"Cats vs. Dogs is a film.| Yes"}, Case{"Take No. 5 please.| It"},
        Case{"No.| I will not"}, Case{"No. "}, Case{"See fig. 3.| It"},
        Case{"He works at Apple Inc. in Cork.| He"}, Case{"He works at Apple Inc.| He left"},
        Case{"Sammy Davis Jr. sang.| He"}, Case{"Come on Jan. 5 at noon.| Ok"},
        Case{"She has a Ph.D. in art.| It"}, Case{"This is (approx. five) enough.| Ok"},
        Case{"Caf\u00e9.| Next"}, Case{"**1.** Mix the flour.| **2.** Wait"},
        Case{"1969.| It was then.| Good"}, Case{"Great!| ~~~ Let's go.| It"},
        Case{"You have 6.| Julia has 5.| Go"}, Case{"Am 6. Juli ist es.| Gut"},
        // Points inside words and numbers.
        Case{"The U.S. Army came.| It"}, Case{"He is in the U.S.| The rest"},
        Case{"He is in the U.S. The"}, Case{"J. K. Rowling wrote.| She"},
        Case{"George W. Bush was there.| He"}, Case{"So am I.| Let us"},
        Case{"See Dr. Kalpana I. Rao there.| Ok"}, Case{"It is at Place # A.| Unfortunately "},
        Case{"It is Plan B.| The end"}, Case{"At 5 p.m. we go.| Come"}, Case{"At 5 p.m.| We go"},
        Case{"At 5 p.m. Monday we go.| Come"}, Case{"At 5 p.m. EST it is.| Ok"}, Case{"At 7 a.m."},
        Case{"It costs $4.99 now.| Ok"}, Case{"It costs $4.99.| Ok"}, Case{"It is 3.5 miles.| Ok"},
        Case{"It takes .5 seconds.| Ok"}, Case{"At 7:30.| Next"},
        Case{"I have 5.| You have 6.| Go"}, Case{"You have 6. Ok"},
        Case{"Version 1.2.3 is out.| Ok"}, Case{"See www.example.com for it.| Ok"},
        Case{"See https://a.com/x?y=1&z=2.| Go"}, Case{"See https://a.com/?q for it.| Ok"},
        Case{"Open main.cpp.| Then"}, Case{"if a != b then.| Ok"}, Case{"etc., and so on.| Ok"},
        // Lists and blocks.
        Case{"1. First item.| 2"}, Case{"12. Twelfth item.| Ok"}, Case{"a. First item.| Ok"},
        Case{"**1. Bold** item.| Ok"}, Case{"Here is a list:|\n1. First.|\n2. Second.| "},
        Case{"Here is a list:|\n- one|\n- two|\n\n"}, Case{"A block|\n\nAnother"},
        Case{"A block|\n \nAnother"}, Case{"A line\nthat goes on.| Ok"}, Case{"A line\n"},
        Case{"Title|\n# Part"}, Case{"It is\n**bold** text.| Ok"}, Case{"In\n2024 it was.| Ok"},
        Case{"Buy|\n\u2022 eggs"},
        // Runs.
        Case{"well... it is.| Ok"}, Case{"That was it...| Then"}, Case{"...and then.| Ok"},
        Case{"Hm\u2026 yes.| Ok"}, Case{"Hm\u2026| Yes"}, Case{"What?!| No"}, Case{"No!!!| Yes"},
        Case{"What?!"}, Case{"wait...what.| Ok"}, Case{"Really...?| Yes"},
        // Quotes and brackets.
        Case{"He said \"Go.\"| Then"}, Case{"\"Go!\" he said.| Then"}, Case{"\"Go!\" "},
        Case{"\u201cGo.\u201d| She went"}, Case{"(It was late.)| He"},
        Case{"It was (really!) good.| Ok"}, Case{"'Why?'| Nobody"}, Case{"**Done.**| Next"},
        Case{"\"Stop!\", he said.| Ok"}, Case{"He said \"Stop!\".| Ok"},
        // Other scripts, pictures.
        Case{"\u4f60\u597d\u3002|\u6211\u5f88\u597d\u3002"},
        Case{"\u771f\u7684\uff1f|\u597d\uff01| "}, Case{"\u300c\u597d\u3002\u300d|\u5979"},
        Case{"\u0928\u092e\u0938\u094d\u0924\u0947\u0964| \u0939"}, Case{"Great!|\U0001F60A Ok"},
        Case{"Great.|\U0001F60A Ok"}, Case{"Ok \U0001F60A.| Next"},
        Case{"\u4ed6\u8bf4\uff1a\u201c\u597d\u3002\u201d|\u7136\u540e"},
        Case{"\u201c\u597d\uff01\u201d\uff0c\u5979\u8bf4\u3002|\u7136"},
        Case{"\u300c\u884c\u304f\uff1f\u300d\u3068\u8a00\u3063\u305f\u3002|\u5f7c"},
        Case{"\u771f\u7684\uff1f\uff01|\u597d"}, Case{"\u597d!|\u6211\u53bb"},
        Case{"\u6211\u60f3\u2026\u2026\u4e5f\u8bb8\u5427\u3002|\u597d"},
        Case{"\u6709\uff13\uff0e\uff15\u4e2a\uff0e|\u597d"}, Case{"\u67093.5\u4e2a\u3002|\u597d"},
        Case{"\u7b2c1\u7ae0\uff08\u5b8c\u3002\uff09|\u597d"}, Case{"\u597d\u3002"},
        Case{"\u597d\uff0c\u6211\uff1a\u6765\u3001\u53bb\uff1b\u884c\u3002|\n"},
        Case{"\uc548\ub155.| \ubc18\uac00"}, Case{"\u06a9\u06cc\u0627\u06d4| \u06c1"},
        Case{"Stop\u203c| Ok"}, Case{"wait\u2026what.| Ok"},
        // Code and tables.
        Case{"Try this:|\n```py\nx.y. Z\n```|\nThen.| Ok"}, Case{"Try this:|\n```py\nx.y. Z"},
        Case{"Try:\n``"}, Case{"Try:\n`x` it.| Ok"}, Case{"```\na.\n\nB. C\n```"},
        Case{"```\na. B\n  ```|\n"}, Case{"~~~\n```\nA. B\n~~~|\n"}, Case{"```ls``` lists.| Ok"},
        Case{"````\n```\nA. B\n````|\nOk"}, Case{"```\nx ```\ny. Z\n```|  \nOk"},
        Case{"Do:|\n- ```py\n  a. B\n  ```|\n- two"}, Case{"> ```\n> a. B\n> ```|\n> So"},
        Case{"1. ```\n   a. B\n   ```|\nOk"}, Case{"Use `a. B? C` here.| Ok"},
        Case{"Use ``a`. B``.| Ok"}, Case{"half a `span\nis here.| Ok"}, Case{"# Title|\n\nText"},
        Case{"Text|\n---\nMore"}, Case{"Text\n**bold** goes on.| Ok"},
        Case{"Do|\n\u2705 this|\n\u274c not that|\n\n"}, Case{"> One\n> goes on.| Ok"},
        // Addresses and notes.
        Case{"See https://a.com/?Query=1&Or=2 there.| Ok"}, Case{"See www.a.com/!Bang.| Ok"},
        Case{"Is it https://a.com/x?| Yes"}, Case{"https://a.com\u3002|\u597d"},
        Case{"So it is.[1]| Then"}, Case{"So it is.[^note] then."}, Case{"So it is.[^note]| Then"},
        Case{"So it is.[1"},
        // Other languages.
        Case{"Tiere, z. B. Katzen.| Ja"}, Case{"Das hei\u00dft d. h. ja.| Gut"},
        Case{"Am 3. Mai 2024.| Dann"}, Case{"Der 2. Weltkrieg.| Dann"}, Case{"Den 2. verden.| Ja"},
        Case{"Nr. 5 bzw. Nr. 6.| Go"}, Case{"\u201eGeh.\u201c| Dann"}, Case{"am 3. M"},
        Case{"El Sr. L\u00f3pez.| Ya"}, Case{"\u0442. \u0435. \u0442\u0430\u043a.| \u041a"},
        Case{"\u0438 \u0442. \u0434.| \u041a\u0430"}, Case{"He lives in CA.| Then"},
        Case{"Solve for x.| Then"}, Case{"Steps: do it.| 2. Then that.| Ok"},
        Case{"\u041f\u0440\u0438\u0432\u0435\u0442.| \u041a\u0430\u043a"}));

TEST(FindSentenceEnd, RowsOfATableAreSentences) {
  std::string_view text = "One:\n| a | b |\n| - | - |\n| 1 | 2 |\n\nThen";
  std::vector<std::string> sentences;
  while (const auto end = find_sentence_end(text, true)) {
    sentences.emplace_back(text.substr(0, *end));
    text.remove_prefix(*end);
  }
  EXPECT_EQ(sentences, (std::vector<std::string>{"One:", "\n| a | b |", "\n| - | - |\n| 1 | 2 |",
                                                 "\n\nThen"}));
}

struct CompleteCase {
  const char* text;
  const char* marked;
};

TEST(FindSentenceEnd, CompleteTextEndsWhateverItsMark) {
  const CompleteCase cases[] = {{"", ""},
                                {"  \n", "  \n"},
                                {"Hello", "Hello|"},
                                {"Hello. ", "Hello.| "},
                                {"Hello.\n", "Hello.|\n"},
                                {"No.", "No.|"},
                                {"One. Two", "One.| Two|"},
                                {"At 5 p.m.", "At 5 p.m.|"},
                                {"I met Dr.", "I met Dr.|"},
                                {"In the U.S. The", "In the U.S.| The|"},
                                {"?!", "?!|"},
                                {"He said \"Go.\"", "He said \"Go.\"|"},
                                {"A block\n", "A block|\n"},
                                {"Try:\n```\na. B\n", "Try:|\n```\na. B|\n"},
                                {"```\na. B\n```", "```\na. B\n```|"},
                                {"```py. Then", "```py. Then|"},
                                {"\u597d\u3002", "\u597d\u3002|"}};
  for (const CompleteCase& c : cases) EXPECT_EQ(mark_ends(c.text, true), c.marked) << c.text;
}

}  // namespace
}  // namespace predgen
