#include "train/objectives/mtp_objective.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/weights/lora.h"
#include "tests/fakes/gated_adapter.h"
#include "tests/fakes/small_models.h"
#include "train/objectives/gradients.h"

namespace predgen::train {
namespace {

const TokenIds kMasks{5, 6, 7};

/// Two answers, of four tokens and of six, in one record.
data::Record record_of_two_answers() {
  data::Record record;
  record.conversation_id = "1";
  record.prompt_length = 3;
  for (int64_t i = 0; i < 16; ++i) record.tokens.push_back((i * 7 + 8) % 38);
  record.loss_mask = {0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  return record;
}

TEST(MtpObjective, MasksStandBehindEachPlaceOfAnAnswerAndEndWithIt) {
  const data::Record record = record_of_two_answers();
  const PackedBatch packed = MtpObjective({.mask_tokens = kMasks}).pack_held_out({record});
  EXPECT_TRUE(packed.gates_adapter);
  ASSERT_EQ(packed.rows.size(), 1);
  std::vector<std::pair<int64_t, int64_t>> found;  // place, size
  int64_t end = 16;
  for (const Segment& segment : packed.segments[0]) {
    EXPECT_EQ(segment.begin, end);
    end += segment.size;
    found.emplace_back(segment.place, segment.size);
    for (int64_t j = 0; j < segment.size; ++j) {
      EXPECT_EQ(packed.rows[0][static_cast<size_t>(segment.begin + j)],
                kMasks[static_cast<size_t>(j)]);
    }
  }
  EXPECT_EQ(end, std::ssize(packed.rows[0]));
  EXPECT_THAT(found, testing::ElementsAre(std::pair(3, 3), std::pair(4, 2), std::pair(5, 1),
                                          std::pair(10, 3), std::pair(11, 3), std::pair(12, 3),
                                          std::pair(13, 2), std::pair(14, 1)));
  const TaughtTerm& term = packed.terms.at("mtp");
  ASSERT_EQ(term.students.size(), 18);
  EXPECT_EQ(term.count, 18);
  // The first mask of the first place stands where token 3 does, and says what comes after that.
  EXPECT_EQ(term.students[0].column, 16);
  EXPECT_EQ(term.teachers[0].column, 3);
  EXPECT_EQ(term.teachers[2].column, 5);
}

TEST(MtpObjective, TheLossIsWhatMasksMissOfTheModelsOwnNextTokens) {
  const auto model = tiny_model();
  attach_random_lora(*model);
  const data::Record record = record_of_two_answers();
  const MtpObjective objective({.mask_tokens = kMasks, .distance_decay = 0.5});
  const PackedBatch packed = objective.pack({record}, 1);
  const LossTerms sums = evaluate_terms(*model, packed);

  const at::NoGradGuard no_grad;
  model->set_adapter_enabled(false);
  const at::Tensor p = at::softmax(gated_logits(*model, record.tokens, 0), -1);
  model->set_adapter_enabled(true);
  double expected = 0, count = 0;
  for (const Segment& segment : packed.segments[0]) {
    TokenIds row(record.tokens.begin(), record.tokens.begin() + segment.place);
    row.insert(row.end(), kMasks.begin(), kMasks.begin() + segment.size);
    const at::Tensor log_q = at::log_softmax(gated_logits(*model, row, segment.size), -1);
    for (int64_t j = 0; j < segment.size; ++j) {
      const at::Tensor teacher = p[segment.place + j];
      const double weight = std::pow(0.5, static_cast<double>(j));
      const at::Tensor apart = teacher * (teacher.log() - log_q[segment.place + j]);
      expected += weight * apart.sum().item<double>();
      count += weight;
    }
  }
  EXPECT_GT(expected, 0.1);
  EXPECT_NEAR(sums.at("mtp"), expected, 1e-4);
  EXPECT_EQ(packed.terms.at("mtp").count, count);
}

TEST(MtpObjective, OnlyMasksTeachTheAdapter) {
  const auto model = tiny_model();
  attach_lora(*model, {}, 3);
  PackedBatch packed = MtpObjective({.mask_tokens = kMasks}).pack({record_of_two_answers()}, 1);
  const auto gradients = [&] {
    const uint64_t no_dropout = 0;
    for (Linear* linear : model->linears()) linear->lora_B.mutable_grad() = at::Tensor();
    accumulate_gradients(*model, {&packed, 1}, counts_of(packed), {&no_dropout, 1});
    double norm = 0;
    for (const Linear* linear : model->linears()) {
      if (linear->lora_B.grad().defined()) norm += linear->lora_B.grad().norm().item<double>();
    }
    return norm;
  };
  EXPECT_GT(gradients(), 1e-3);
  // What plain tokens say reaches no adapter.
  for (RowPosition& student : packed.terms.at("mtp").students) student.column = 2;
  EXPECT_EQ(gradients(), 0);
}

TEST(MtpObjective, DrawsOtherPlacesInEachStep) {
  const data::Record record = record_of_two_answers();
  const MtpObjective objective({.mask_tokens = kMasks, .places = 3});
  std::set<int64_t> seen;
  for (uint64_t step = 0; step < 20; ++step) {
    const PackedBatch packed = objective.pack({record}, step);
    ASSERT_EQ(packed.segments[0].size(), 3);
    for (const Segment& segment : packed.segments[0]) seen.insert(segment.place);
    EXPECT_LE(std::ssize(packed.rows[0]),
              objective.longest_row({.tokens = 16, .prompt_length = 3}));
  }
  EXPECT_EQ(seen.size(), 8);
}

TEST(MtpObjective, ARecordWithNothingToLearnHasNoRow) {
  data::Record record = record_of_two_answers();
  record.loss_mask.assign(record.tokens.size(), 0);
  record.loss_mask[5] = 1;  // nothing comes behind it
  const PackedBatch packed = MtpObjective({.mask_tokens = kMasks}).pack({record}, 1);
  EXPECT_TRUE(packed.rows.empty());
  EXPECT_EQ(packed.terms.at("mtp").count, 0);
}

}  // namespace
}  // namespace predgen::train
