#include "train/objectives/objective.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model/weights/lora.h"
#include "tests/fakes/small_models.h"
#include "train/objectives/autoregressive_objective.h"
#include "train/objectives/consistency_objective.h"
#include "train/objectives/gradients.h"
#include "train/objectives/packed_row.h"
#include "train/optim/adamw.h"
#include "train/optim/precision.h"

namespace predgen::train {
namespace {

constexpr TokenId kStop = 39;

data::Record record(int64_t index) {
  data::Record record;
  record.conversation_id = std::to_string(index);
  record.prompt_length = 3 + index;
  for (int64_t i = 0; i < 9 + index; ++i) record.tokens.push_back((i * 7 + index * 5 + 1) % 38);
  record.loss_mask.assign(record.tokens.size(), 0);
  for (size_t i = static_cast<size_t>(record.prompt_length); i < record.tokens.size(); ++i) {
    record.loss_mask[i] = i % 3 != 0;
  }
  const TokenId t = index + 11;
  record.blocks = {{{{t, 1, 2, 3}, {t, t + 1, 7, 8}, {t, t + 1, t + 2, t + 3}}},
                   {{{4, 5, 6, 7}, {t + 4, t + 5, kStop, 0}}}};
  return record;
}

Batch batch_of_four() { return {record(0), record(1), record(2), record(3)}; }

// Logits of one unpadded row, all positions, plainly.
at::Tensor naive_logits(const Transformer& model, const TokenIds& row) {
  return model.logits(model.hidden_states(at::tensor(row, at::kLong).unsqueeze(0))[0]);
}

struct NaiveTerm {
  double sum = 0.0, count = 0.0;
};

NaiveTerm naive_cross_entropy(const Transformer& model, const Batch& batch) {
  NaiveTerm term;
  for (const data::Record& record : batch) {
    const at::Tensor log_probs = at::log_softmax(naive_logits(model, record.tokens), -1);
    for (size_t i = 1; i < record.tokens.size(); ++i) {
      if (!record.loss_mask[i]) continue;
      term.sum -= log_probs[static_cast<int64_t>(i) - 1][record.tokens[i]].item<double>();
      ++term.count;
    }
  }
  return term;
}

/// The student's log-probabilities and the teacher's probabilities, from rows that are not packed.
struct NaivePair {
  at::Tensor log_q, p;
  double weight;
};

std::vector<NaivePair> naive_pairs(const Transformer& model, const Transformer& teacher,
                                   const data::Record& record, const ConsistencyOptions& options,
                                   uint64_t seed) {
  std::vector<NaivePair> pairs;
  const PackedRow row = pack_row(record, options, seed);
  if (row.segments.empty()) return pairs;
  const auto begin = row.tokens.begin();
  const TokenIds clean(begin, begin + row.segments.front().begin);
  const at::Tensor p = at::softmax(naive_logits(teacher, clean), -1);
  for (const Segment& segment : row.segments) {
    TokenIds plain(begin, begin + segment.place);
    plain.insert(plain.end(), begin + segment.begin, begin + segment.begin + segment.size);
    const at::Tensor log_q = at::log_softmax(naive_logits(model, plain), -1);
    for (size_t i = 0; i < row.student.size(); ++i) {
      const int64_t offset = row.student[i] - segment.begin;
      if (offset < 0 || offset >= segment.size) continue;
      EXPECT_EQ(row.teacher[i], segment.place + offset);
      pairs.push_back({log_q[segment.place + offset], p[row.teacher[i]], row.weights[i]});
    }
  }
  return pairs;
}

NaiveTerm naive_consistency(const Transformer& model, const Batch& batch,
                            const ConsistencyOptions& options, uint64_t seed) {
  NaiveTerm term;
  for (const data::Record& record : batch) {
    for (const NaivePair& pair : naive_pairs(model, model, record, options, seed)) {
      term.sum += pair.weight * (pair.p * (pair.p.log() - pair.log_q)).sum().item<double>();
    }
    term.count += pack_row(record, options, seed).count;
  }
  return term;
}

ConsistencyOptions options(NoisyContext context) {
  ConsistencyOptions options;
  options.context = context;
  options.stop_tokens = {kStop};
  options.ar_weight = 0.7;
  options.consistency_weight = 1.3;
  return options;
}

LossTerms counts(const Objective& objective, const Batch& batch) {
  return counts_of(objective.pack(batch, 1));
}

/// Adds the gradients of a batch; returns the sums of its terms.
LossTerms add_gradients(Transformer& model, const Objective& objective, const Batch& batch,
                        const LossTerms& denominators) {
  const PackedBatch packed = objective.pack(batch, 1);
  const uint64_t no_dropout = 0;
  LossTerms sums;
  for (const auto& [name, sum] :
       accumulate_gradients(model, {&packed, 1}, denominators, {&no_dropout, 1})) {
    sums[name] = sum.item<double>();
  }
  return sums;
}

LossTerms held_out(Transformer& model, const Objective& objective, const Batch& batch) {
  return evaluate_terms(model, objective.pack_held_out(batch));
}

std::map<std::string, at::Tensor> gradients(const Transformer& model) {
  std::map<std::string, at::Tensor> gradients;
  for (const auto& [name, tensor] : model.named_weights()) gradients[name] = tensor.grad().clone();
  return gradients;
}

void make_trainable(const Transformer& model) {
  for (const auto& [name, tensor] : model.named_weights()) {
    tensor.requires_grad_(true);
    tensor.mutable_grad() = at::zeros_like(tensor);
  }
}

TEST(AutoregressiveObjective, EqualsTheNaiveFormula) {
  const auto model = tiny_model();
  const AutoregressiveObjective objective(0.0);
  const NaiveTerm expected = naive_cross_entropy(*model, batch_of_four());
  EXPECT_NEAR(held_out(*model, objective, batch_of_four()).at("ar"), expected.sum, 1e-4);
  EXPECT_EQ(counts(objective, batch_of_four()).at("ar"), expected.count);
}

TEST(AutoregressiveObjective, BranchesLearnAsRowsOfTheirOwn) {
  data::Record together = record(2);
  together.tokens.resize(11);
  together.loss_mask = {0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1};
  together.branches = {5, 8};
  Batch apart(2);
  for (data::Record& alone : apart) {
    alone.tokens.assign(together.tokens.begin(), together.tokens.begin() + 8);
    alone.loss_mask = {0, 0, 0, 0, 0, 0, 1, 1};
  }
  std::copy(together.tokens.begin() + 8, together.tokens.end(), apart[1].tokens.begin() + 5);
  const auto model = tiny_model();
  const AutoregressiveObjective objective(0.0);
  const NaiveTerm expected = naive_cross_entropy(*model, apart);
  EXPECT_NEAR(held_out(*model, objective, {together}).at("ar"), expected.sum, 1e-4);
  EXPECT_EQ(counts(objective, {together}).at("ar"), 4);
  const auto gradient = [&](const Batch& batch) {
    make_trainable(*model);
    add_gradients(*model, objective, batch, {{"ar", 4.0}});
    return gradients(*model);
  };
  // Beside a plain record, whose row has other padding.
  const auto own = gradient({together, record(0)});
  for (const auto& [name, expected_gradient] : gradient({apart[0], apart[1], record(0)})) {
    EXPECT_LE((own.at(name) - expected_gradient).abs().max().item<double>(), 1e-5) << name;
  }
  together.branches.clear();  // each sees the other one: not the same
  EXPECT_GT(std::abs(held_out(*model, objective, {together}).at("ar") - expected.sum), 1e-2);
}

TEST(AutoregressiveObjective, SmoothsLabelsInTrainingAlone) {
  const auto model = tiny_model();
  const AutoregressiveObjective objective(0.2);
  const Batch batch{record(1)};
  make_trainable(*model);
  const LossTerms got = add_gradients(*model, objective, batch, counts(objective, batch));
  const auto smoothed = gradients(*model);
  make_trainable(*model);
  const TokenIds& row = batch[0].tokens;
  std::vector<int64_t> columns, targets;
  for (size_t i = 1; i < row.size(); ++i) {
    if (!batch[0].loss_mask[i]) continue;
    columns.push_back(static_cast<int64_t>(i) - 1);
    targets.push_back(row[i]);
  }
  const at::Tensor expected = at::cross_entropy_loss(
      naive_logits(*model, row).index_select(0, at::tensor(columns)), at::tensor(targets), {},
      at::Reduction::Sum, -100, /*label_smoothing=*/0.2);
  (expected / static_cast<double>(targets.size())).backward();
  EXPECT_NEAR(got.at("ar"), expected.item<double>(), 1e-4);
  for (const auto& [name, gradient] : gradients(*model)) {
    EXPECT_LE((gradient - smoothed.at(name)).abs().max().item<double>(), 1e-5) << name;
  }
  EXPECT_NEAR(held_out(*model, objective, batch).at("ar"), naive_cross_entropy(*model, batch).sum,
              1e-4);
}

TEST(ConsistencyObjective, EqualsTheNaiveFormula) {
  const auto model = tiny_model();
  for (const NoisyContext context : {NoisyContext::kClean, NoisyContext::kNoisy}) {
    for (const bool mean : {false, true}) {
      ConsistencyOptions chosen = options(context);
      chosen.mean_over_blocks = mean;
      chosen.states_per_block = mean ? 1 : 2;
      const ConsistencyObjective objective(chosen);
      make_trainable(*model);
      const auto denominators = counts(objective, batch_of_four());
      const LossTerms got = add_gradients(*model, objective, batch_of_four(), denominators);
      const at::NoGradGuard no_grad;
      const NaiveTerm expected = naive_consistency(*model, batch_of_four(), chosen, 1);
      EXPECT_GT(expected.sum, 0.1);
      EXPECT_NEAR(got.at("consistency"), expected.sum, 1e-4);
      EXPECT_EQ(denominators.at("consistency"), expected.count);
      EXPECT_NEAR(got.at("ar"), naive_cross_entropy(*model, batch_of_four()).sum, 1e-4);
    }
  }
}

// Central differences along random directions, in double. The teacher is held constant, so the
// derivative of the loss is taken with the teacher of the unmoved weights.
TEST(ConsistencyObjective, GradientIsTheDerivativeWithTheTeacherHeld) {
  const auto model = tiny_model(at::kDouble), teacher = tiny_model(at::kDouble);
  const ConsistencyOptions chosen = options(NoisyContext::kClean);
  const ConsistencyObjective objective(chosen);
  const Batch batch = batch_of_four();
  make_trainable(*model);
  const auto denominators = counts(objective, batch);
  add_gradients(*model, objective, batch, denominators);

  const at::NoGradGuard no_grad;
  const auto loss = [&] {
    double consistency = 0.0;
    for (const data::Record& record : batch) {
      for (const NaivePair& pair : naive_pairs(*model, *teacher, record, chosen, 1)) {
        consistency += (pair.p * (pair.p.log() - pair.log_q)).sum().item<double>();
      }
    }
    return 0.7 * naive_cross_entropy(*model, batch).sum / denominators.at("ar") +
           1.3 * consistency / denominators.at("consistency");
  };
  // Logits are float32, so the step is large and the tolerance loose.
  constexpr double kStep = 1e-2;
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.down_proj.weight",
        "model.embed_tokens.weight", "model.layers.1.input_layernorm.weight"}) {
    const at::Tensor weight = model->named_weights().at(name);
    const at::Tensor direction = weight.grad() / weight.grad().norm();
    weight.add_(direction, kStep);
    const double above = loss();
    weight.add_(direction, -2 * kStep);
    const double below = loss();
    weight.add_(direction, kStep);
    const double slope = weight.grad().norm().item<double>();
    EXPECT_GT(slope, 1e-3) << name;
    EXPECT_NEAR((above - below) / (2 * kStep), slope, 0.01 * slope + 1e-4) << name;
  }
}

TEST(ConsistencyObjective, TheBaseIsTheModelWithoutItsAdapter) {
  const auto model = tiny_model(), base = tiny_model();
  attach_lora(
      *model,
      {.rank = 2, .alpha = 4.0, .dropout = 0.0, .target_modules = {"q_proj"}, .base_model = ""}, 1);
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    const at::NoGradGuard no_grad;
    tensor.requires_grad_(true).normal_();
    tensor.mutable_grad() = at::zeros_like(tensor);
  }
  ConsistencyOptions chosen = options(NoisyContext::kClean);
  chosen.ar_target = ArTarget::kBase;
  const ConsistencyObjective objective(chosen);
  const Batch batch = batch_of_four();
  const LossTerms denominators = counts(objective, batch);
  const LossTerms got = add_gradients(*model, objective, batch, denominators);
  const at::NoGradGuard no_grad;
  NaiveTerm expected;
  for (const data::Record& record : batch) {
    const at::Tensor log_p = at::log_softmax(naive_logits(*base, record.tokens), -1);
    const at::Tensor log_q = at::log_softmax(naive_logits(*model, record.tokens), -1);
    expected.sum += (log_p.exp() * (log_p - log_q)).sum().item<double>();
    expected.count += static_cast<double>(record.tokens.size());
  }
  EXPECT_GT(expected.sum, 0.1);
  EXPECT_NEAR(got.at("base"), expected.sum, 1e-4);
  EXPECT_EQ(denominators.at("base"), expected.count);
  EXPECT_FALSE(got.contains("ar"));
  // Held-out losses stay comparable with other runs.
  EXPECT_NEAR(held_out(*model, objective, batch).at("ar"), naive_cross_entropy(*model, batch).sum,
              1e-4);
}

TEST(Objectives, SplittingABatchChangesNothing) {
  const auto model = tiny_model();
  for (const NoisyContext context : {NoisyContext::kClean, NoisyContext::kNoisy}) {
    ConsistencyOptions chosen = options(context);
    if (context == NoisyContext::kClean) chosen.blocks = BlockChoice::kOne;
    const ConsistencyObjective objective(chosen);
    const Batch batch = batch_of_four();
    const auto denominators = counts(objective, batch);
    make_trainable(*model);
    add_gradients(*model, objective, batch, denominators);
    const auto together = gradients(*model);
    make_trainable(*model);
    for (const data::Record& record : batch) {
      add_gradients(*model, objective, {record}, denominators);
    }
    for (const auto& [name, gradient] : gradients(*model)) {
      EXPECT_LE((gradient - together.at(name)).abs().max().item<double>(), 1e-6) << name;
      EXPECT_GT(gradient.abs().max().item<double>(), 1e-4) << name;
    }
  }
}

TEST(Objectives, EmptyTermsAreSkipped) {
  const auto model = tiny_model();
  Batch batch = batch_of_four();
  for (data::Record& record : batch) record.blocks.clear();
  const ConsistencyObjective objective(options(NoisyContext::kClean));
  make_trainable(*model);
  const LossTerms terms = add_gradients(*model, objective, batch, counts(objective, batch));
  EXPECT_EQ(terms.at("consistency"), 0.0);
  EXPECT_GT(terms.at("ar"), 0.0);
}

TEST(Precision, BFloat16TrainsEveryAdapterTensorAfterATeacherPass) {
  const auto model = tiny_model();
  attach_lora(*model,
              {.rank = 2,
               .alpha = 4.0,
               .dropout = 0.0,
               .target_modules = {"q_proj", "down_proj"},
               .base_model = ""},
              1);
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    const at::NoGradGuard no_grad;
    tensor.requires_grad_(true).normal_();
    tensor.mutable_grad() = at::zeros_like(tensor);
  }
  ConsistencyOptions chosen = options(NoisyContext::kClean);
  chosen.ar_weight = 0.0;  // nothing but the pass after the teacher's
  const ConsistencyObjective objective(chosen);
  const auto denominators = counts(objective, batch_of_four());
  LossTerms narrow;
  {
    const ComputeScope scope(Compute::kBFloat16, model->device());
    narrow = add_gradients(*model, objective, batch_of_four(), denominators);
  }
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    EXPECT_EQ(tensor.grad().scalar_type(), at::kFloat);
    EXPECT_GT(tensor.grad().abs().max().item<double>(), 0.0) << name;
  }
  const LossTerms wide = add_gradients(*model, objective, batch_of_four(), denominators);
  EXPECT_NE(narrow.at("consistency"), wide.at("consistency"));
  EXPECT_NEAR(narrow.at("consistency"), wide.at("consistency"), 0.1 * wide.at("consistency"));
}

}  // namespace
}  // namespace predgen::train
