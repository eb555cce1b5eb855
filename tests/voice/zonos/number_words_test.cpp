#include "voice/zonos/number_words.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace predgen {
namespace {

struct Case {
  const char* written;
  const char* spoken;
};

class NumbersToWords : public testing::TestWithParam<Case> {};

TEST_P(NumbersToWords, SpeaksAsTrained) {
  EXPECT_EQ(numbers_to_words(GetParam().written), GetParam().spoken) << GetParam().written;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, NumbersToWords,
    testing::Values(Case{"", ""}, Case{"no digits, here.", "no digits, here."},
                    // Commas and years.
                    Case{"1,234,567",
                         "one million, two hundred thirty-four thousand, five hundred sixty-seven"},
                    Case{"1,2", "twelve"}, Case{"1,,2", "twelve"}, Case{"1, 2,", "one, two,"},
                    Case{"1000", "one thousand"}, Case{"1001", "ten oh one"},
                    Case{"1100", "eleven hundred"}, Case{"1905", "nineteen oh five"},
                    Case{"2000", "two thousand"}, Case{"2007", "two thousand seven"},
                    Case{"2010", "twenty ten"}, Case{"2999", "twenty-nine ninety-nine"},
                    Case{"3000", "three thousand"}, Case{"3001", "three thousand one"},
                    Case{"03001", "three thousand one"}, Case{"01905", "nineteen oh five"},
                    Case{"007", "seven"}, Case{"00", "zero"},
                    // Groups.
                    Case{"12345", "twelve thousand, three hundred forty-five"},
                    Case{"1000001", "one million one"}, Case{"1000100", "one million, one hundred"},
                    Case{"1001000", "one million, one thousand"}, Case{"100", "one hundred"},
                    // Amounts.
                    Case{"$5", "five dollars"}, Case{"$1.50", "one dollar, fifty cents"},
                    Case{"$1.5", "one dollar, five cents"}, Case{"$.01", "one cent"},
                    Case{"$.50", "fifty cents"}, Case{"$0", "zero dollars"},
                    Case{"$0.00", "zero dollars"}, Case{"$1.2.3", "one point two.three dollars"},
                    Case{"$1,234.56", "twelve thirty-four dollars, fifty-six cents"},
                    Case{"$5.", "five dollars."}, Case{"$ 5", "$ five"}, Case{"$", "$"},
                    Case{"\u00a33,000", "three thousand pounds"},
                    Case{"\u00a31.50", "one pounds.fifty"}, Case{"\u00a3", "\u00a3"},
                    Case{"5\u00a3", "five\u00a3"},
                    // Decimals, ordinals.
                    Case{"3.14", "three point fourteen"}, Case{"1.2.3", "one point two.three"},
                    Case{"0.5%", "zero point five%"}, Case{"-7", "-seven"}, Case{"2nd", "second"},
                    Case{"101st", "one hundred and first"},
                    Case{"1234th", "one thousand, two hundred and thirty-fourth"},
                    Case{"1001st", "one thousand and first"}, Case{"20th", "twentieth"},
                    Case{"0th", "zeroth"}, Case{"5thousand", "fifthousand"},
                    Case{"12th", "twelfth"}, Case{"1000000th", "one millionth"}));

TEST(NumbersToWordsPort, DropsStrayCommasOfAmounts) {
  EXPECT_EQ(numbers_to_words("$,5"), "five dollars");
  EXPECT_EQ(numbers_to_words("$,5.,5"), "five dollars, five cents");
}

TEST(NumbersToWordsPort, ReadsMoreThanThirtySixDigitsOneByOne) {
  const std::string nines(36, '9');
  EXPECT_TRUE(numbers_to_words(nines).starts_with("nine hundred ninety-nine decillion, "));
  EXPECT_TRUE(numbers_to_words("0" + nines).starts_with("nine hundred ninety-nine decillion, "));
  std::string one_by_one = "one";
  for (int i = 0; i < 36; ++i) one_by_one += " zero";
  EXPECT_EQ(numbers_to_words("1" + std::string(36, '0')), one_by_one);
  EXPECT_EQ(numbers_to_words("1" + std::string(36, '0') + "th"), one_by_one + "th");
  EXPECT_EQ(numbers_to_words("$1" + std::string(36, '0')), one_by_one + " dollars");
  EXPECT_EQ(numbers_to_words("." + std::string(100000, '1')).size(), 400000u);
}

TEST(NumbersToWordsGolden, AllRows) {
  const Json golden = read_json("tests/voice/golden/numbers.json");
  EXPECT_GE(golden.size(), 50u);
  for (auto row = golden.begin(); row != golden.end(); ++row) {
    EXPECT_EQ(numbers_to_words(row.key()), row.value()) << row.key();
  }
}

}  // namespace
}  // namespace predgen
