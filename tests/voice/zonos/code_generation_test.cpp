#include "voice/zonos/code_generation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

/// Returns the number of steps.
int64_t finish(CodeGeneration& generation) {
  int64_t num_steps = 1;
  while (generation.step()) ++num_steps;
  return num_steps;
}

TEST_F(ZonosGolden, CodesAreThoseOfTheOfficialCode) {
  const Json cases = read_json(kVoiceGolden / "cases.json");
  const at::Tensor prefix = model_->make_prefix(conditioning());
  ASSERT_EQ(cases.at("cases").size(), 5u);
  for (const Json& item : cases.at("cases")) {
    const std::string name = item.at("name");
    SCOPED_TRACE(name);
    const Json& sampling = item.at("sampling");
    CodeGenerationConfig config;
    config.cfg_scale = cases.at("cfg_scale");
    config.max_new_frames = item.at("max_new_tokens");
    config.sampling.python_draws = true;
    config.sampling.seed = item.at("cpu_seed");
    config.sampling.temperature = sampling.value("temperature", 1.0);
    config.sampling.min_p = sampling.value("min_p", 0.0);
    config.sampling.top_p = sampling.value("top_p", 0.0);
    config.sampling.top_k = sampling.value("top_k", 0);
    config.sampling.linear = sampling.value("linear", 0.0);
    config.sampling.confidence = sampling.value("conf", 0.0);
    config.sampling.quadratic = sampling.value("quad", 0.0);
    const bool has_audio = item.at("with_prefix_codes");
    CodeGeneration generation(*model_, prefix, config,
                              has_audio ? golden("prefix_codes")[0] : at::Tensor());
    const int64_t num_steps = finish(generation);
    const at::Tensor expected = golden("codes_" + name).to(at::kLong);
    const at::Tensor codes = generation.codes();
    ASSERT_EQ(codes.sizes(), expected.sizes());
    // In the columns after the limit upstream puts values into the cells of other codebooks.
    const int64_t last_column = generation.num_prefix_frames() + config.max_new_frames;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      const int64_t count = std::min(codes.size(1), last_column - k);
      EXPECT_TRUE(at::equal(codes[k].narrow(0, 0, count), expected[k].narrow(0, 0, count))) << k;
    }
    EXPECT_EQ(generation.ended_by_eos(), item.at("ended_by_eos").get<bool>());
    // Upstream takes one further step whose column nobody needs.
    EXPECT_EQ(num_steps, expected.size(1) - generation.num_prefix_frames() + kZonosCodebooks - 2);
  }
}

class Generation : public testing::Test {
 protected:
  void SetUp() override {
    write_small_transformer(folder_.path());
    model_ = ZonosModel::load(folder_.path(), {.device = "cpu", .dtype = "fp32"});
    prefix_ = model_->make_prefix(small_zonos_conditioning());
    // Random weights would end early or late: only the limit ends these.
    config_.sampling.eos_penalty = 1e6;
    config_.sampling.seed = 11;
    config_.max_new_frames = 40;
  }
  TemporaryFolder folder_;
  std::unique_ptr<ZonosModel> model_;
  at::Tensor prefix_;
  CodeGenerationConfig config_;
};

TEST_F(Generation, EndsAtTheLimit) {
  CodeGeneration generation(*model_, prefix_, config_);
  EXPECT_EQ(generation.num_frames(), 0);
  int64_t num_steps = 1;
  for (; generation.step(); ++num_steps) {
    EXPECT_EQ(generation.num_frames(), std::max<int64_t>(0, num_steps - 7));
    EXPECT_FALSE(generation.is_complete());
  }
  EXPECT_TRUE(generation.is_complete());
  EXPECT_FALSE(generation.ended_by_eos());
  EXPECT_EQ(num_steps, 47);
  EXPECT_EQ(generation.num_frames(), 40);
  EXPECT_FALSE(generation.step());
  EXPECT_EQ(generation.num_frames(), 40);
  const at::Tensor codes = generation.codes();
  EXPECT_EQ(codes.sizes(), (at::IntArrayRef{9, 40}));
  const std::set<int64_t> distinct(codes.const_data_ptr<int64_t>(),
                                   codes.const_data_ptr<int64_t>() + codes.numel());
  EXPECT_GE(distinct.size(), 20u);
}

TEST_F(Generation, SeedsDiffer) {
  CodeGeneration one(*model_, prefix_, config_);
  config_.sampling.seed = 12;
  CodeGeneration other(*model_, prefix_, config_);
  finish(one);
  finish(other);
  EXPECT_FALSE(at::equal(one.codes(), other.codes()));
}

TEST_F(Generation, EarlierAudioCountsAsFrames) {
  const at::Tensor audio = at::randint(0, 1024, {9, 10}, at::kLong);
  CodeGeneration generation(*model_, prefix_, config_, audio);
  EXPECT_EQ(generation.num_prefix_frames(), 10);
  EXPECT_EQ(generation.num_frames(), 10);
  finish(generation);
  EXPECT_EQ(generation.num_frames(), 50);
  EXPECT_TRUE(at::equal(generation.codes().narrow(1, 0, 10), audio));
}

TEST_F(Generation, RefusesWhatCannotBe) {
  const auto refuse = [&](const std::function<void(CodeGenerationConfig&)>& change,
                          const std::vector<std::string>& parts) {
    CodeGenerationConfig config;
    change(config);
    expect_user_error([&] { CodeGeneration(*model_, prefix_, config); }, parts);
  };
  refuse([](auto& c) { c.cfg_scale = -1; }, {"CFG scale", "-1"});
  refuse([](auto& c) { c.cfg_scale = NAN; }, {"CFG scale"});
  refuse([](auto& c) { c.max_new_frames = 0; }, {"limit", "0"});
  refuse([](auto& c) { c.sampling.top_p = 2; }, {"top-p"});
  const at::Tensor audio = at::zeros({9, kZonosMaxPositions}, at::kLong);
  expect_user_error([&] { CodeGeneration(*model_, prefix_, config_, audio); }, {"16384"});
}

}  // namespace
}  // namespace predgen
