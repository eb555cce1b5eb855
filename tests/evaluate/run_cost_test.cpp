#include "evaluate/run_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/small_models.h"

namespace predgen::evaluate {
namespace {

struct Costs : testing::Test {
  RunCost make(const std::string& name, bool drafts = false) {
    const CostedEngine costed{engine, *model, Quantization::kNone};
    const CostedEngine costed_draft{draft_engine, *draft, Quantization::kNone};
    return make_cost(name, config, costed, drafts ? &costed_draft : nullptr);
  }

  EvalConfig config;
  std::unique_ptr<Transformer> model = small_model(), draft = tiny_model();
  Engine engine = borrowing_engine(*model), draft_engine = borrowing_engine(*draft);
};

TEST_F(Costs, AreNamedAndStated) {
  config.seconds_per_pass = 0.5;
  config.seconds_per_token = 0.25;
  EXPECT_EQ(make("given").costs.of(3), Seconds(1.25));
  EXPECT_EQ(make("a5000").costs.of(33), Seconds(0.027));  // whatever the width
  EXPECT_FALSE(make("wall_clock").costs.is_known());
  for (const std::string& name : cost_names()) {
    const RunCost cost = make(name);
    EXPECT_EQ(cost.name, name);
    EXPECT_FALSE(cost.basis.empty()) << name;
    EXPECT_TRUE(!cost.costs.is_known() || cost.costs.of(1) > Seconds(0)) << name;
    EXPECT_EQ(to_json(run_cost_from(to_json(cost))), to_json(cost)) << name;
    EXPECT_EQ(run_cost_from(to_json(cost)).costs.is_known(), cost.costs.is_known()) << name;
  }
  EXPECT_THAT(make("h100").basis, testing::HasSubstr("roofline"));
}

TEST_F(Costs, ARooflineIsOfTheModelThatRunsOrOfAsLargeAOneAsTheConfigurationSays) {
  const double own = make("rtx4090").costs.line()->per_pass.count();
  EXPECT_NEAR(own, static_cast<double>(model->config().num_parameters()) * 4 / 1.008e12, 1e-12);
  config.cost_parameters = 7.6e9;
  EXPECT_NEAR(make("rtx4090").costs.line()->per_pass.count(), 15.2e9 / 1.008e12, 1e-9);
}

TEST_F(Costs, ADraftModelCostsItsShareOfTheBytes) {
  const double share = static_cast<double>(draft->config().num_parameters()) /
                       static_cast<double>(model->config().num_parameters());
  for (const char* name : {"a5000", "h100"}) {
    EXPECT_FALSE(to_json(make(name)).contains("seconds_per_draft_pass"));
    const RunCost cost = make(name, true);
    EXPECT_EQ(to_json(run_cost_from(to_json(cost))), to_json(cost));
    const PassCosts own = cost.costs.of_draft_model();
    EXPECT_NEAR(own.line()->per_pass / cost.costs.line()->per_pass, share, 1e-9) << name;
  }
  config.seconds_per_draft_pass = 0.125;
  EXPECT_EQ(make("given", true).costs.of_draft_model().line()->per_pass, Seconds(0.125));
  EXPECT_GT(make("this_machine", true).costs.of_draft_model().of(1), Seconds(0));  // measured, too
}

}  // namespace
}  // namespace predgen::evaluate
