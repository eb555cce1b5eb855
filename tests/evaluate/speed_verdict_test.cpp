#include "evaluate/speed_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

using testing::HasSubstr;
using testing::Not;

Json median(double value) { return {{"median", value}}; }

Json report(double rate, double steps, Json speedup) {
  return {
      {"decode", {{"tokens_per_second", median(rate)}}},
      {"verify", {{{"draft", 16}, {"steps", median(steps)}}}},
      {"answers", {{{"block", 1}, {"speedup", median(1)}}, {{"block", 16}, {"speedup", speedup}}}}};
}

TEST(SpeedVerdict, SaysWhatPays) {
  const std::string fast = speed_verdict(report(188, 6.6, median(1.42)));
  EXPECT_THAT(fast, HasSubstr("188 tokens/s; speech needs about 3.5: fast enough"));
  EXPECT_THAT(fast, HasSubstr("as long as making 6.6: it saves time if 6 or more"));
  EXPECT_THAT(fast, HasSubstr("answer 1.4 times as fast as a token a pass: --decoder jacobi pays"));
  EXPECT_THAT(fast, Not(HasSubstr("blocks of 1 ")));
}

TEST(SpeedVerdict, SaysWhatDoesNot) {
  const std::string slow = speed_verdict(report(3.4, 17, median(0.6)));
  EXPECT_THAT(slow, HasSubstr("TOO SLOW"));
  EXPECT_THAT(slow, HasSubstr("never saves time"));
  EXPECT_THAT(slow, HasSubstr("leave it off"));
  EXPECT_THAT(speed_verdict(report(9, 0.9, Json{{"median", nullptr}})), Not(HasSubstr("Jacobi")));
  EXPECT_THAT(speed_verdict(report(9, 0.9, median(1))), HasSubstr("if 1 or more"));
}

}  // namespace
}  // namespace predgen::evaluate
