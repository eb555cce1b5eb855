#include "evaluate/repeated_values.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

using Values = std::vector<std::vector<std::string>>;

TEST(RepeatedValues, AreNamesAndNumbersThatBothSay) {
  EXPECT_EQ(find_repeated_values("Is there a salon in San Jose, at 4:15?",
                                 "At 4:15 there is one in San Jose."),
            (Values{{"san", "jose"}, {"4:15"}}));
  // Inside a run other words are taken along, at its end they are not.
  EXPECT_EQ(
      find_repeated_values("The Lord of the Rings for two", "I play Lord of the Rings for you"),
      (Values{{"lord", "of", "the", "rings"}}));
  // As far as the answer goes along, and each time that it is said.
  EXPECT_EQ(find_repeated_values("a flat in Redwood City or Redwood Shores", "In Redwood City?"),
            (Values{{"redwood", "city"}, {"redwood"}}));
}

TEST(RepeatedValues, AreNoOrdinaryWords) {
  EXPECT_TRUE(find_repeated_values("I want a table.  Please hurry, I'm late",
                                   "You want a table? please hurry, I'm late, I want")
                  .empty());
  EXPECT_TRUE(find_repeated_values("In Fresno on Monday", "Where and when?").empty());
  EXPECT_TRUE(find_repeated_values("A table for 3", "3 rooms").empty());
  EXPECT_TRUE(find_repeated_values("", "Fresno").empty());
  EXPECT_TRUE(find_repeated_values(" ,. ", "").empty());
}

TEST(RepeatedValues, AreCountedInAnotherAnswer) {
  const auto count = [](const char* answer) {
    return count_repeated_values("To Fresno, for 31 people", "31 seats to Fresno?", answer);
  };
  EXPECT_EQ(count("fresno: 4 people").num_values, 2);
  EXPECT_EQ(count("fresno: 4 people").num_repeated, 1);
  EXPECT_EQ(count("You are 31? To \"Fresno\"!").num_repeated, 2);
  EXPECT_EQ(count("To Fresnoville, 131").num_repeated, 0);
  EXPECT_EQ(count("").num_repeated, 0);
}

}  // namespace
}  // namespace predgen::evaluate
