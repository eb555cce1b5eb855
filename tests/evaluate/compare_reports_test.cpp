#include "evaluate/compare_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::evaluate {
namespace {

Json row(int64_t turn, const std::string& method, double ttfs, int64_t passes,
         const std::string& text) {
  return {{"turn", turn},
          {"id", std::to_string(turn)},
          {"method", method},
          {"prompt", "p"},
          {"text", text},
          {"ttfs", ttfs},
          {"audio_latency", nullptr},
          {"nfe_to_first_sentence", passes},
          {"model", "m"},
          {"cost", "h100"}};
}

/// Two turns, two methods.
Json report(double greedy_ttfs = 0.2, const std::string& greedy_text = "Yes.") {
  const Json methods{{"greedy", nullptr}, {"baseline", nullptr}};
  return {{"runs", {{{"model", "m"}, {"cost", {{"name", "h100"}}}, {"methods", methods}}}},
          {"num_turns", 2},
          {"turns",
           {row(0, "baseline", 0.4, 10, "Yes."), row(0, "greedy", 0.2, 5, "Yes."),
            row(1, "baseline", 0.6, 10, "No."), row(1, "greedy", greedy_ttfs, 7, greedy_text)}}};
}

TEST(CompareReports, OfTheSameRunShowsNoDifference) {
  const Json comparison = compare_reports(
      report(), report(), {.max_slower = 0, .max_more_passes = 0, .min_equal_text = 1});
  EXPECT_TRUE(comparison["changed"].empty());
  EXPECT_TRUE(comparison["crossed"].empty());
  const Json& baseline = comparison["runs"][0]["methods"]["baseline"];
  EXPECT_EQ(baseline["n"], 2);
  EXPECT_EQ(baseline["ttfs"]["difference"]["mean"], 0.0);
  EXPECT_EQ(baseline["equal_text"], 1.0);
  EXPECT_TRUE(baseline["audio_latency"]["difference"].is_null());
}

TEST(CompareReports, PairsTurnsAndShowsWhatChangedMost) {
  const Json comparison = compare_reports(report(), report(0.26, "Well."), {});
  const Json& ttfs = comparison["runs"][0]["methods"]["greedy"]["ttfs"];
  EXPECT_NEAR(ttfs["before"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(ttfs["after"].get<double>(), 0.23, 1e-12);
  EXPECT_NEAR(ttfs["difference"]["mean"].get<double>(), 0.03, 1e-12);
  EXPECT_NEAR(ttfs["difference"]["low"].get<double>(), 0, 1e-12);  // one turn of two, resampled
  EXPECT_NEAR(ttfs["difference"]["high"].get<double>(), 0.06, 1e-12);
  EXPECT_EQ(comparison["runs"][0]["methods"]["greedy"]["equal_text"], 0.5);
  ASSERT_EQ(comparison["changed"].size(), 1u);
  EXPECT_EQ(comparison["changed"][0]["before"], "Yes.");
  EXPECT_EQ(comparison["changed"][0]["after"], "Well.");
  EXPECT_THAT(format_comparison(comparison), testing::HasSubstr("after:  Well."));
}

TEST(CompareReports, ABoundIsCrossedByOneMethod) {
  const auto crossed = [](const ComparisonBounds& bounds) {
    return compare_reports(report(), report(0.26, "Well."), bounds)["crossed"].size();
  };
  EXPECT_EQ(crossed({.max_slower = 0.16}), 0u);  // greedy's mean grows by 15 %
  EXPECT_EQ(crossed({.max_slower = 0.14}), 1u);
  EXPECT_EQ(crossed({.max_more_passes = 0}), 0u);
  EXPECT_EQ(crossed({.min_equal_text = 0.5}), 0u);
  EXPECT_EQ(crossed({.min_equal_text = 0.6}), 1u);
}

TEST(CompareReports, OtherSetsAreRefused) {
  Json other = report();
  other["turns"][3]["prompt"] = "q";
  expect_user_error([&] { compare_reports(report(), other, {}); }, {"sets differ", "turn 1"});
  other = report();
  other["num_turns"] = 3;
  expect_user_error([&] { compare_reports(report(), other, {}); }, {"sets differ", "2", "3"});
  other = report();
  for (Json& one : other["turns"]) one["method"] = "top3";
  expect_user_error([&] { compare_reports(report(), other, {}); }, {"no method"});
  other = report();
  other["runs"].push_back(other["runs"][0]);
  expect_user_error([&] { compare_reports(report(), other, {}); }, {"1 models", "2"});
}

TEST(CompareReports, ATurnThatFailedInOneIsLeftOut) {
  Json other = report();
  other["turns"].erase(3);
  other["turns"].erase(2);
  EXPECT_EQ(compare_reports(report(), other, {})["runs"][0]["methods"]["greedy"]["n"], 1);
}

}  // namespace
}  // namespace predgen::evaluate
