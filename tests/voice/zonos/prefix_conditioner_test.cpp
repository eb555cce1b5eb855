#include "voice/zonos/prefix_conditioner.h"

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

double worst(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

TEST_F(ZonosGolden, PrefixIsThatOfTheOfficialCode) {
  const at::Tensor expected = golden("prefix");
  const at::Tensor found = model_->make_prefix(conditioning());
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE(worst(found - expected), 1e-5);
  EXPECT_GT(worst(expected[0] - expected[1]), 0.1);
}

class Prefix : public testing::Test {
 protected:
  void SetUp() override {
    write_small_transformer(folder_.path());
    model_ = ZonosModel::load(folder_.path(), {.device = "cpu", .dtype = "fp32"});
  }
  TemporaryFolder folder_;
  std::unique_ptr<ZonosModel> model_;
};

TEST_F(Prefix, WhatIsNotGivenIsUnconditional) {
  const at::Tensor all = model_->make_prefix(small_zonos_conditioning());
  EXPECT_EQ(all.sizes(), (at::IntArrayRef{2, 6 + 4, 32}));
  ZonosConditioning text_only;
  text_only.phoneme_ids = small_zonos_conditioning().phoneme_ids;
  const at::Tensor none = model_->make_prefix(text_only);
  EXPECT_TRUE(at::equal(none[0], none[1]));
  EXPECT_TRUE(at::equal(none[1], all[1]));
  EXPECT_TRUE(at::equal(all[0].narrow(0, 0, 6), all[1].narrow(0, 0, 6))) << "the same text";
  for (int64_t position = 6; position < 10; ++position) {
    EXPECT_GT(worst(all[0][position] - all[1][position]), 1e-2) << position;
  }
}

TEST_F(Prefix, EmotionIsDividedByItsSum) {
  ZonosConditioning conditioning = small_zonos_conditioning();
  const at::Tensor once = model_->make_prefix(conditioning);
  for (float& weight : *conditioning.emotion) weight *= 4;
  EXPECT_LE(worst(model_->make_prefix(conditioning) - once), 1e-5);
}

TEST_F(Prefix, RefusesValuesOutOfRange) {
  const auto refuse = [&](const std::function<void(ZonosConditioning&)>& change,
                          const std::vector<std::string>& parts) {
    ZonosConditioning conditioning = small_zonos_conditioning();
    change(conditioning);
    expect_user_error([&] { model_->make_prefix(conditioning); }, parts);
  };
  refuse([](auto& given) { given.phoneme_ids.clear(); }, {"text is empty"});
  refuse([](auto& given) { given.phoneme_ids[1] = 189; }, {"189", "188"});
  refuse([](auto& given) { given.phoneme_ids[1] = -1; }, {"-1"});
  refuse([](auto& given) { given.speaker = at::zeros({256}); }, {"speaker", "256", "128"});
  refuse([](auto& given) { given.speaker = at::full({128}, NAN); }, {"speaker", "finite"});
  refuse([](auto& given) { (*given.emotion)[2] = -0.1f; }, {"emotion"});
  refuse([](auto& given) { given.emotion->fill(0.0f); }, {"emotion", "leave"});
  refuse([](auto& given) { (*given.emotion)[0] = INFINITY; }, {"emotion"});
  refuse([](auto& given) { given.fmax = 24001.0f; }, {"fmax", "24001", "0..24000"});
  refuse([](auto& given) { given.fmax = NAN; }, {"fmax"});
  refuse([](auto& given) { given.language_id = 127; }, {"language_id", "-1..126"});
  refuse([](auto& given) { given.pitch_std = 20.0f; }, {"pitch_std", "no place"});
}

TEST(PrefixConditioner, WithoutAnUnconditionalVectorAValueMustBeGiven) {
  Json config = small_zonos_config();
  config["prefix_conditioner"]["conditioners"][3].erase("uncond_type");
  const TemporaryFolder folder;
  write_small_transformer(folder.path(), config);
  const auto model = ZonosModel::load(folder.path(), {.device = "cpu", .dtype = "fp32"});
  ZonosConditioning conditioning = small_zonos_conditioning();
  const at::Tensor prefix = model->make_prefix(conditioning);
  EXPECT_TRUE(at::equal(prefix[0][8], prefix[1][8])) << "both rows keep what has no other value";
  conditioning.fmax.reset();
  expect_user_error([&] { model->make_prefix(conditioning); }, {"fmax", "must be given"});
}

}  // namespace
}  // namespace predgen
