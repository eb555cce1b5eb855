#include "evaluate/speed_report.h"

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

struct Input {
  SpeedConfig config{.prompt = 100, .generate = 21, .drafts = {4}, .runs = 4};
  ModelSpeed speed{
      .prefill = {0.5, 0.2, 0.1, 0.4},
      .decode = {0.04, 0.01, 0.02, 0.05},
      .page_faults = {0.0, 0.5, 0.0, 0.0},
      .allocated_bytes = {2000.0, 2000.0, 2000.0, 2000.0},
      .step = {0.01, 0.01, 0.01, 0.01},
      .verify = {{.draft = 4, .seconds = {0.02, 0.03, 0.04, 0.05}, .in_steps = {2, 3, 4, 5}}},
      .answers = {{.block = 1}, {.block = 4}}};
  DecodeBytes bytes{.weights = 7000, .adapter = 900, .kv_per_position = 10};
  MemoryBandwidth bandwidth{
      .bytes_per_second = 1e6, .buffer_bytes = int64_t{1} << 30, .cache_bytes = {}};
  PeakMemory peak{.process = int64_t{3} << 30, .device = {}};

  Input() {
    for (AnswerSpeed& answer : speed.answers) {
      const double passes = answer.block == 1 ? 1 : 0.5;
      for (int run = 0; run < 3; ++run) {
        answer.seconds_per_pass.push_back(0.01);
        answer.passes_per_token.push_back(passes);
        answer.tokens_per_second.push_back(100 / passes);
        answer.speedup.push_back(1 / passes);
      }
    }
  }
  Json report() { return make_speed_report({config, speed, bytes, bandwidth, peak, {}}); }
};

TEST(SpeedReport, GivesMedianAndExtremesOfTheRuns) {
  const Json report = Input().report();
  const Json& prefill = report["prefill"];
  EXPECT_DOUBLE_EQ(prefill["seconds"]["median"].get<double>(), 0.3);
  EXPECT_EQ(prefill["seconds"]["values"], Json({0.5, 0.2, 0.1, 0.4}));
  EXPECT_DOUBLE_EQ(prefill["tokens_per_second"]["min"].get<double>(), 200);  // of the slowest run
  EXPECT_DOUBLE_EQ(prefill["tokens_per_second"]["max"].get<double>(), 1000);
  EXPECT_DOUBLE_EQ(prefill["tokens_per_second"]["median"].get<double>(), 375);
  EXPECT_DOUBLE_EQ(report["verify"][0]["steps"]["median"].get<double>(), 3.5);
}

TEST(SpeedReport, SetsBytesAgainstTheBandwidth) {
  const Json decode = Input().report()["decode"];
  // 21 steps with 100 to 120 positions.
  EXPECT_DOUBLE_EQ(decode["bytes_per_token"]["total"].get<double>(), 7000 + 900 + 110 * 10);
  EXPECT_DOUBLE_EQ(decode["bytes_per_token"]["keys_and_values"].get<double>(), 1100);
  EXPECT_DOUBLE_EQ(decode["bytes_per_second"]["max"].get<double>(), 9000 / 0.01);
  EXPECT_DOUBLE_EQ(decode["share_of_bandwidth"]["max"].get<double>(), 0.9);
  EXPECT_DOUBLE_EQ(decode["share_of_bandwidth"]["min"].get<double>(), 0.18);
  EXPECT_DOUBLE_EQ(decode["tokens_per_second"]["min"].get<double>(), 20);
}

TEST(SpeedReport, KeepsRunsWithoutAnAnswerAsNull) {
  Input input;
  for (auto* list : {&input.speed.answers[1].speedup, &input.speed.answers[1].seconds_per_pass}) {
    list->insert(list->begin(), std::nullopt);
  }
  const Json speedup = input.report()["answers"][1]["speedup"];
  EXPECT_EQ(speedup["values"], Json({nullptr, 2.0, 2.0, 2.0}));
  EXPECT_EQ(speedup["median"], 2.0);
  input.speed.answers[1].speedup = {std::nullopt};
  const Json report = input.report();
  EXPECT_TRUE(report["answers"][1]["speedup"]["median"].is_null());
  EXPECT_THAT(format_speed(report),
              HasSubstr("         -          -          -  x a token a pass"));
}

TEST(SpeedReport, PrintsWhatItHolds) {
  Input input;
  const std::string text = format_speed(input.report());
  EXPECT_THAT(text,
              HasSubstr("prefill of 100                    375        200       1000  tokens/s"));
  EXPECT_THAT(text, HasSubstr("GB/s: 0.009 MB read per token"));
  EXPECT_THAT(text, HasSubstr("         18         90  % of memory bandwidth\n"));
  EXPECT_THAT(text, HasSubstr("          0          0        0.5  page faults a token\n"));
  EXPECT_THAT(text, HasSubstr("          2          2          2  kB allocated a token\n"));
  EXPECT_THAT(text, HasSubstr("3.5          2          5  steps' time"));
  EXPECT_THAT(text, HasSubstr("Jacobi, blocks of 4"));
  EXPECT_THAT(text, HasSubstr("peak memory 3 GiB of the process\n"));
  input.bandwidth.cache_bytes = 9000;
  input.peak.device = int64_t{5} << 30;
  const std::string on_gpu = format_speed(input.report());
  EXPECT_THAT(on_gpu, HasSubstr("% of memory bandwidth; the processor's cache can hold"));
  EXPECT_THAT(on_gpu, HasSubstr("3 GiB of the process, 5 GiB of the device"));
}

}  // namespace
}  // namespace predgen::evaluate
