#include "evaluate/run_price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/small_models.h"

namespace predgen::evaluate {
namespace {

struct Prices : testing::Test {
  RunPrice make(const std::string& name, bool drafts = false) {
    const PricedEngine priced{engine, *model, Quantization::kNone};
    const PricedEngine priced_draft{draft_engine, *draft, Quantization::kNone};
    return make_price(name, config, priced, drafts ? &priced_draft : nullptr);
  }

  EvalConfig config;
  std::unique_ptr<Transformer> model = small_model(), draft = tiny_model();
  Engine engine = borrowing_engine(*model), draft_engine = borrowing_engine(*draft);
};

TEST(Roofline, IsBytesOverBandwidthAndOperationsOverPeak) {
  // 7.6 thousand million parameters in bfloat16 on an H100: 4.54 ms a pass, 15.4 us a token.
  const PassPrice price = roofline({.bytes = 15.2e9, .flops_per_token = 15.2e9}, 3.35e12, 989.4e12);
  EXPECT_NEAR(price.per_pass.count(), 4.537e-3, 1e-6);
  EXPECT_NEAR(price.per_token.count(), 15.36e-6, 1e-8);
  EXPECT_NEAR(price.of(33).count(), 4.537e-3 + 33 * 15.36e-6, 2e-6);
}

TEST_F(Prices, AreNamedAndStated) {
  config.seconds_per_pass = 0.5;
  config.seconds_per_token = 0.25;
  EXPECT_EQ(make("given").pass->of(3), Seconds(1.25));
  EXPECT_EQ(make("a5000").pass->of(33), Seconds(0.027));  // whatever the width
  EXPECT_FALSE(make("wall_clock").pass);
  for (const std::string& name : price_names()) {
    const RunPrice price = make(name);
    EXPECT_EQ(price.name, name);
    EXPECT_FALSE(price.basis.empty()) << name;
    EXPECT_TRUE(!price.pass || price.pass->of(1) > Seconds(0)) << name;
    EXPECT_EQ(to_json(run_price_from(to_json(price))), to_json(price)) << name;
  }
  EXPECT_THAT(make("h100").basis, testing::HasSubstr("roofline"));
}

TEST_F(Prices, ARooflineIsOfTheModelThatRunsOrOfAsLargeAOneAsTheConfigurationSays) {
  const double own = make("rtx4090").pass->per_pass.count();
  EXPECT_NEAR(own, static_cast<double>(model->config().num_parameters()) * 4 / 1.008e12, 1e-12);
  config.priced_parameters = 7.6e9;
  EXPECT_NEAR(make("rtx4090").pass->per_pass.count(), 15.2e9 / 1.008e12, 1e-9);
}

TEST_F(Prices, ADraftModelCostsItsShareOfTheBytes) {
  const double share = static_cast<double>(draft->config().num_parameters()) /
                       static_cast<double>(model->config().num_parameters());
  for (const char* name : {"a5000", "h100"}) {
    EXPECT_FALSE(to_json(make(name)).contains("seconds_per_draft_pass"));
    const RunPrice price = make(name, true);
    EXPECT_EQ(to_json(run_price_from(to_json(price))), to_json(price));
    EXPECT_NEAR(price.draft_pass.per_pass / price.pass->per_pass, share, 1e-9) << name;
  }
  config.seconds_per_draft_pass = 0.125;
  EXPECT_EQ(make("given", true).draft_pass.per_pass, Seconds(0.125));
  EXPECT_GT(make("this_machine", true).draft_pass.of(1), Seconds(0));  // measured, too
}

}  // namespace
}  // namespace predgen::evaluate
