#include "voice/zonos/code_generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

constexpr int64_t M = kZonosMask, E = kZonosEos;

/// A column whose value of codebook k is 100 * k + number.
CodeColumn numbered(int64_t number) {
  CodeColumn column;
  for (int64_t k = 0; k < kZonosCodebooks; ++k) column[static_cast<size_t>(k)] = 100 * k + number;
  return column;
}

CodeColumn with_eos(CodeColumn column) {
  column[0] = E;
  return column;
}

std::vector<int64_t> row(const CodeGrid& grid, size_t codebook) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < grid.num_columns(); ++i) values.push_back(grid.column(i)[codebook]);
  return values;
}

TEST(CodeGrid, DelaysEachCodebookByOneMore) {
  CodeGrid grid({}, 3);
  EXPECT_EQ(grid.num_columns(), 1);
  for (int64_t i = 1; !grid.is_complete(); ++i) {
    EXPECT_EQ(grid.num_frames(), std::max<int64_t>(0, i - 9)) << i;
    grid.append(numbered(i));
  }
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 1, 2, 3, M, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 1), (std::vector<int64_t>{M, M, 102, 103, 104, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 8), (std::vector<int64_t>{M, M, M, M, M, M, M, M, M, 809, 810, 811}));
  EXPECT_EQ(grid.num_frames(), 3);
  EXPECT_FALSE(grid.ended_by_eos());
  const at::Tensor codes = grid.codes();
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    for (int64_t frame = 0; frame < 3; ++frame) {
      EXPECT_EQ(codes[k][frame].item<int64_t>(), 100 * k + frame + k + 1);
    }
  }
  EXPECT_TRUE(at::equal(grid.codes(2), codes.narrow(1, 2, 1)));
}

TEST(CodeGrid, EosEndsWithTheFrameBeforeOnceTheOthersHaveCaughtUp) {
  CodeGrid grid({}, 50);
  for (int64_t i = 1; i <= 4; ++i) grid.append(numbered(i));
  EXPECT_FALSE(grid.ended_by_eos());
  grid.append(with_eos(numbered(5)));  // instead of frame 4
  EXPECT_TRUE(grid.ended_by_eos());
  EXPECT_FALSE(grid.may_end());
  int64_t further = 0;
  while (!grid.is_complete()) {
    grid.append(with_eos(numbered(6 + further)));  // later ones change nothing
    ++further;
  }
  EXPECT_EQ(further, 7);
  EXPECT_EQ(grid.num_frames(), 4);
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 1, 2, 3, 4, E, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 2), (std::vector<int64_t>{M, M, M, 203, 204, 205, 206, E, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 8), (std::vector<int64_t>{M, M, M, M, M, M, M, M, M, 809, 810, 811, 812}));
  EXPECT_LT(grid.codes().max().item<int64_t>(), kZonosEos);
}

TEST(CodeGrid, TheFirstNewFrameIsNeverAnEnd) {
  CodeGrid grid({}, 5);
  EXPECT_TRUE(grid.is_first());
  EXPECT_FALSE(grid.may_end());
  grid.append(numbered(1));
  EXPECT_FALSE(grid.is_first());
  EXPECT_TRUE(grid.may_end());
}

TEST(CodeGrid, AfterTheLimitCodebookZeroCannotEndAnything) {
  CodeGrid grid({}, 2);
  for (int64_t i = 1; i <= 2; ++i) grid.append(numbered(i));
  EXPECT_FALSE(grid.may_end());
  while (!grid.is_complete()) grid.append(with_eos(numbered(1)));
  EXPECT_EQ(grid.num_frames(), 2);
  EXPECT_FALSE(grid.ended_by_eos());
}

TEST(CodeGrid, CodesOfEarlierAudioGoBefore) {
  const at::Tensor prefix = at::arange(9 * 5, at::kLong).view({9, 5});
  CodeGrid grid(prefix, 4);
  EXPECT_EQ(grid.num_columns(), 6);
  EXPECT_TRUE(grid.is_first());
  EXPECT_EQ(grid.num_frames(), 5);
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 0, 1, 2, 3, 4}));
  EXPECT_EQ(row(grid, 3), (std::vector<int64_t>{M, M, M, M, 15, 16}));
  int64_t appended = 0;
  while (!grid.is_complete()) {
    grid.append(numbered(++appended));
    EXPECT_EQ(grid.num_frames(), std::max<int64_t>(5, 5 + appended - 8)) << appended;
  }
  EXPECT_EQ(row(grid, 3), (std::vector<int64_t>{M, M, M, M, 15, 16, 17, 18, 19, 304, 305, 306, 307,
                                                M, M, M, M, M}));
  EXPECT_EQ(grid.num_frames(), 9);
  EXPECT_TRUE(at::equal(grid.codes().narrow(1, 0, 5), prefix));
  EXPECT_EQ(grid.codes(5)[3][0].item<int64_t>(), 304);
}

TEST(CodeGrid, LastColumnsAreThoseThereAre) {
  CodeGrid grid({}, 5);
  grid.append(numbered(1));
  EXPECT_EQ(grid.last_columns(0).size(), 0u);
  EXPECT_EQ(grid.last_columns(1)[0][0], 1);
  EXPECT_EQ(grid.last_columns(9).size(), 2u);
  EXPECT_EQ(grid.first_columns(2)[0][1].item<int64_t>(), 1);
}

TEST(CodeGrid, RefusesWhatIsNoAudio) {
  expect_user_error([] { CodeGrid({}, 0); }, {"limit", "0"});
  expect_user_error([] { CodeGrid(at::zeros({8, 3}, at::kLong), 5); }, {"[8, 3]", "9"});
  expect_user_error([] { CodeGrid(at::full({9, 3}, 1024, at::kLong), 5); }, {"1024", "1023"});
  expect_user_error([] { CodeGrid(at::full({9, 3}, -1, at::kLong), 5); }, {"-1"});
}

/// All else switched off.
CodeSamplingConfig plain() {
  CodeSamplingConfig config;
  config.repetition_penalty = 1.0;
  config.min_p = 0.0;
  return config;
}

at::Tensor probabilities(const std::vector<double>& values, const CodeSamplingConfig& config) {
  return filtered_probabilities(at::tensor(values, at::kFloat).log().unsqueeze(0), config)[0];
}

void expect_near(const at::Tensor& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[static_cast<int64_t>(i)].item<double>(), expected[i], 1e-5) << i;
  }
}

/// Logits that make `code` certain in every codebook.
at::Tensor certain(int64_t code) {
  const at::Tensor logits = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  logits.select(1, code).fill_(100);
  return logits;
}

TEST_F(ZonosGolden, RepetitionPenaltyIsThatOfTheOfficialCode) {
  const at::Tensor seen = golden("pen_hist").to(at::kLong);
  std::vector<CodeColumn> history;
  for (int64_t i = seen.size(1) - 2; i < seen.size(1); ++i) {
    CodeColumn column;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      column[static_cast<size_t>(k)] = seen[k][i].item<int64_t>();
    }
    history.push_back(column);
  }
  const at::Tensor found = penalize_repetition(golden("pen_in"), history, 3.0);
  EXPECT_TRUE(at::allclose(found, golden("pen_out"), 1e-6, 1e-6));
  EXPECT_FALSE(at::equal(golden("pen_in"), golden("pen_out")));
}

TEST(CodeSampler, FiltersKeepWhatTheyShould) {
  const std::vector<double> p{0.4, 0.3, 0.2, 0.1};
  CodeSamplingConfig config = plain();
  expect_near(probabilities(p, config), p);
  config.top_p = 0.6;  // what goes before 0.2 is 0.7
  expect_near(probabilities(p, config), {4.0 / 7, 3.0 / 7, 0, 0});
  config = plain();
  config.top_k = 3;
  expect_near(probabilities(p, config), {4.0 / 9, 3.0 / 9, 2.0 / 9, 0});
  expect_near(probabilities({0.4, 0.2, 0.2, 0.2}, config), {0.4, 0.2, 0.2, 0.2});  // ties stay
  config.top_k = 100;
  expect_near(probabilities(p, config), p);
  config = plain();
  config.min_p = 0.6;
  expect_near(probabilities(p, config), {4.0 / 7, 3.0 / 7, 0, 0});
  config = plain();
  config.temperature = 0.5;  // squares
  expect_near(probabilities(p, config), {16.0 / 30, 9.0 / 30, 4.0 / 30, 1.0 / 30});
  config = plain();
  config.linear = 2.0;
  expect_near(probabilities(p, config), {16.0 / 30, 9.0 / 30, 4.0 / 30, 1.0 / 30});
  config.linear = 1.0;
  config.quadratic = 1.0;  // p^(1 - log p)
  std::vector<double> expected;
  double sum = 0;
  for (const double value : p) sum += expected.emplace_back(std::pow(value, 1 - std::log(value)));
  for (double& value : expected) value /= sum;
  expect_near(probabilities(p, config), expected);
}

TEST(CodeSampler, EntropyCountsWithConfidence) {
  const std::vector<double> p{0.4, 0.3, 0.2, 0.1};
  double entropy = 0;
  for (const double value : p) entropy -= value * std::log(value);
  CodeSamplingConfig config = plain(), same = plain();
  config.linear = 0.5;
  config.confidence = 0.4;
  same.temperature = 1 / (0.5 + 0.4 * entropy);
  EXPECT_TRUE(at::allclose(probabilities(p, config), probabilities(p, same), 1e-5, 1e-6));
}

TEST(CodeSampler, EndsOnlyWhereItMay) {
  CodeSamplingConfig config = plain();
  for (const double temperature : {0.0, 1.0}) {
    config.temperature = temperature;
    CodeSampler sampler(config);
    CodeGrid grid({}, 20);
    const CodeColumn first = sampler.sample(certain(kZonosEos), grid);
    for (const int64_t code : first) EXPECT_NE(code, kZonosEos);
    grid.append(first);
    const CodeColumn second = sampler.sample(certain(kZonosEos), grid);
    EXPECT_EQ(second[0], kZonosEos);
    for (size_t k = 1; k < second.size(); ++k) EXPECT_NE(second[k], kZonosEos) << k;
    grid.append(second);
    for (const int64_t code : sampler.sample(certain(kZonosEos), grid)) EXPECT_NE(code, kZonosEos);
  }
}

TEST(CodeSampler, EosPenaltyMovesTheEnd) {
  CodeSamplingConfig config = plain();
  config.temperature = 0;
  CodeGrid grid({}, 20);
  grid.append(CodeColumn{});
  const at::Tensor logits = certain(7);
  logits[0][kZonosEos] = 101;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], kZonosEos);
  config.eos_penalty = 1.5;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], 7);
}

TEST(CodeSampler, WhatWasSaidIsLessLikely) {
  CodeSamplingConfig config = plain();
  config.temperature = 0;
  config.repetition_penalty = 3.0;
  CodeSampler sampler(config);
  const at::Tensor logits = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  logits.select(1, 5).fill_(4);
  logits.select(1, 6).fill_(2);
  CodeGrid grid({}, 20);
  EXPECT_EQ(sampler.sample(logits, grid)[0], 5) << "no penalty yet";
  grid.append(sampler.sample(logits, grid));
  const CodeColumn next = sampler.sample(logits, grid);
  EXPECT_EQ(next[0], 6);
  EXPECT_EQ(next[1], 5) << "codebook 1 has said nothing yet";
  config.repetition_window = 0;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], 5);
}

TEST(CodeSampler, DrawsByProbabilityAndSeed) {
  CodeSamplingConfig config = plain();
  config.seed = 5;
  const at::Tensor logits =
      at::full({kZonosCodebooks, kZonosLogits}, -std::numeric_limits<float>::infinity());
  logits.select(1, 0).fill_(std::log(0.7f));
  logits.select(1, 1).fill_(std::log(0.3f));
  const CodeGrid grid({}, 5);
  CodeSampler sampler(config);
  int64_t ones = 0;
  constexpr int64_t kDraws = 400;
  for (int64_t i = 0; i < kDraws; ++i) {
    for (const int64_t code : sampler.sample(logits, grid)) {
      ASSERT_LE(code, 1);
      ones += code;
    }
  }
  EXPECT_NEAR(static_cast<double>(ones) / (kDraws * kZonosCodebooks), 0.3, 0.03);

  const at::Tensor flat = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  CodeSampler one(config), same(config);
  const CodeColumn drawn = one.sample(flat, grid);
  EXPECT_EQ(same.sample(flat, grid), drawn);
  EXPECT_EQ(same.sample(flat, grid), one.sample(flat, grid));
  config.seed = 6;
  EXPECT_NE(CodeSampler(config).sample(flat, grid), drawn);
}

TEST(CodeSampler, RefusesLogitsThatAreNoNumbers) {
  for (const double value : {std::nan(""), HUGE_VAL}) {
    at::Tensor logits = certain(5);
    logits[8][1000].fill_(value);
    CodeSampler sampler(plain());
    expect_user_error([&] { sampler.sample(logits, CodeGrid({}, 10)); },
                      {"not numbers", "model.safetensors"});
  }
}

TEST(CodeSampler, RefusesImpossibleSettings) {
  const auto refuse = [](const std::function<void(CodeSamplingConfig&)>& change,
                         const std::vector<std::string>& parts) {
    CodeSamplingConfig config;
    change(config);
    expect_user_error([&] { CodeSampler sampler(config); }, parts);
  };
  refuse([](auto& c) { c.repetition_penalty = 0; }, {"repetition penalty"});
  refuse([](auto& c) { c.repetition_window = -1; }, {"repetition window", "-1"});
  refuse([](auto& c) { c.temperature = -1; }, {"temperature", "-1"});
  refuse([](auto& c) { c.temperature = NAN; }, {"temperature"});
  refuse([](auto& c) { c.linear = -0.5; }, {"linear"});
  refuse([](auto& c) { c.confidence = 0.4; }, {"confidence", "linear"});
  refuse([](auto& c) { c.linear = 1, c.quadratic = INFINITY; }, {"quadratic"});
  refuse([](auto& c) { c.top_p = 1.5; }, {"top-p", "1.5"});
  refuse([](auto& c) { c.top_k = -3; }, {"top-k", "-3"});
  refuse([](auto& c) { c.min_p = -0.1; }, {"min-p"});
  refuse([](auto& c) { c.eos_penalty = NAN; }, {"EOS penalty"});
}

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
