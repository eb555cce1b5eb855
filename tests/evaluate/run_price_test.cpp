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

TEST_F(Prices, AreNamedAndStated) {
  config.seconds_per_pass = 0.5;
  config.seconds_per_token = 0.25;
  EXPECT_EQ(make("given").prices.of(3), Seconds(1.25));
  EXPECT_EQ(make("a5000").prices.of(33), Seconds(0.027));  // whatever the width
  EXPECT_FALSE(make("wall_clock").prices.is_known());
  for (const std::string& name : price_names()) {
    const RunPrice price = make(name);
    EXPECT_EQ(price.name, name);
    EXPECT_FALSE(price.basis.empty()) << name;
    EXPECT_TRUE(!price.prices.is_known() || price.prices.of(1) > Seconds(0)) << name;
    EXPECT_EQ(to_json(run_price_from(to_json(price))), to_json(price)) << name;
  }
  EXPECT_THAT(make("h100").basis, testing::HasSubstr("roofline"));
}

TEST_F(Prices, ARooflineIsOfTheModelThatRunsOrOfAsLargeAOneAsTheConfigurationSays) {
  const double own = make("rtx4090").prices.line()->per_pass.count();
  EXPECT_NEAR(own, static_cast<double>(model->config().num_parameters()) * 4 / 1.008e12, 1e-12);
  config.priced_parameters = 7.6e9;
  EXPECT_NEAR(make("rtx4090").prices.line()->per_pass.count(), 15.2e9 / 1.008e12, 1e-9);
}

TEST_F(Prices, ADraftModelCostsItsShareOfTheBytes) {
  const double share = static_cast<double>(draft->config().num_parameters()) /
                       static_cast<double>(model->config().num_parameters());
  for (const char* name : {"a5000", "h100"}) {
    EXPECT_FALSE(to_json(make(name)).contains("seconds_per_draft_pass"));
    const RunPrice price = make(name, true);
    EXPECT_EQ(to_json(run_price_from(to_json(price))), to_json(price));
    const PassPrices own = price.prices.of_draft_model();
    EXPECT_NEAR(own.line()->per_pass / price.prices.line()->per_pass, share, 1e-9) << name;
  }
  config.seconds_per_draft_pass = 0.125;
  EXPECT_EQ(make("given", true).prices.of_draft_model().line()->per_pass, Seconds(0.125));
  EXPECT_GT(make("this_machine", true).prices.of_draft_model().of(1), Seconds(0));  // measured, too
}

}  // namespace
}  // namespace predgen::evaluate
