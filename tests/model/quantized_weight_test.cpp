#include "model/quantized_weight.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <limits>

#include "model/memory_estimate.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

class QuantizedWeights : public testing::TestWithParam<Quantization> {};
INSTANTIATE_TEST_SUITE_P(, QuantizedWeights,
                         testing::Values(Quantization::kInt8, Quantization::kInt4));

TEST_P(QuantizedWeights, MultiplyNearTheFullMatrix) {
  const double bound = GetParam() == Quantization::kInt8 ? 0.015 : 0.13;
  for (const auto& [out, in] : {std::pair{48, 256}, {64, 96}, {16, 704}}) {
    const at::Tensor weight = normal({out, in}, 1);
    const QuantizedWeight quantized(weight, GetParam(), at::kCPU, "w");
    EXPECT_LT(quantized.relative_error(), bound);
    EXPECT_GT(quantized.relative_error(), bound / 10);
    // A few rows and many take different paths.
    for (const int64_t rows : {1, 3, 40}) {
      const at::Tensor input = normal({2, rows, in}, 2).to(at::kBFloat16);
      const at::Tensor found = quantized(input);
      EXPECT_EQ(found.sizes(), (at::IntArrayRef{2, rows, out}));
      const double error = relative(found, at::linear(input.to(at::kFloat), weight));
      EXPECT_LT(error, bound) << rows << " rows, " << out << " x " << in;
    }
  }
}

TEST_P(QuantizedWeights, ZeroStaysZero) {
  const QuantizedWeight quantized(at::zeros({32, 64}), GetParam(), at::kCPU, "w");
  EXPECT_LT(quantized(at::ones({1, 64}, at::kBFloat16)).abs().max().item<double>(), 1e-5);
}

TEST_P(QuantizedWeights, TheEstimateIsWhatIsKept) {
  ModelConfig config = small_config();
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.head_dim = 16;
  const auto model = Transformer::initialize(config, 1, at::kBFloat16);
  const int64_t full = weight_bytes(config, Quantization::kNone);
  EXPECT_EQ(full, 2 * config.num_parameters());
  int64_t linears = 0, kept = 0;
  for (const Linear* linear : model->linears()) {
    linears += static_cast<int64_t>(linear->weight.nbytes());
  }
  model->quantize(GetParam());
  for (const Linear* linear : model->linears()) kept += linear->quantized->num_bytes();
  const int64_t head = quantized_bytes(config.vocab_size, config.hidden_size, Quantization::kInt8);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(weight_bytes(config, GetParam()), full - linears + kept + head);
  EXPECT_LT(kept, linears * (GetParam() == Quantization::kInt8 ? 0.6 : 0.4));
}

TEST_P(QuantizedWeights, LargeMatricesArePackedInPieces) {
  const at::Tensor weight = normal({9008, 1024}, 4), input = normal({2, 1024}, 5).to(at::kBFloat16);
  const at::Tensor whole = QuantizedWeight(weight, GetParam(), at::kCPU, "w")(input);
  std::vector<at::Tensor> parts;
  for (const auto& [begin, end] : {std::pair{0, 2048}, {2048, 8192}, {8192, 9008}}) {
    const at::Tensor rows = weight.narrow(0, begin, end - begin);
    parts.push_back(QuantizedWeight(rows, GetParam(), at::kCPU, "w")(input));
  }
  EXPECT_TRUE(at::equal(whole, at::cat(parts, -1)));
}

class QuantizedHeads : public testing::TestWithParam<std::tuple<Quantization, bool>> {};
INSTANTIATE_TEST_SUITE_P(KindAndTied, QuantizedHeads,
                         testing::Combine(testing::Values(Quantization::kInt8, Quantization::kInt4),
                                          testing::Bool()));

TEST_P(QuantizedHeads, ArePackedIntoEightBits) {
  const auto [kind, is_tied] = GetParam();
  ModelConfig config = small_config();  // of 61 tokens, which could not be packed into 4
  config.tie_word_embeddings = is_tied;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  const auto full = Transformer::initialize(config, 1, at::kBFloat16);
  const auto quantized = Transformer::initialize(config, 1, at::kBFloat16);
  quantized->quantize(kind);
  for (const Linear* linear : quantized->linears()) EXPECT_NE(linear->quantized, nullptr);
  EXPECT_NE(quantized->head().quantized, nullptr);
  const at::NoGradGuard no_grad;
  const at::Tensor hidden = normal({1, 3, 64}, 2).to(at::kBFloat16);
  const double error = relative(quantized->logits(hidden), full->logits(hidden));
  EXPECT_GT(error, 1e-4);
  EXPECT_LT(error, 0.015);
  const auto embedded = [](const Transformer& model) {
    return model.embed(model.read_rows(at::arange(61).unsqueeze(0), {}, {}));
  };
  EXPECT_TRUE(embedded(*quantized).equal(embedded(*full)));
  ModelConfig other = config;
  other.tie_word_embeddings = !is_tied;
  EXPECT_EQ(weight_bytes(config, kind), weight_bytes(other, kind));
}

TEST_P(QuantizedWeights, AModelStaysClose) {
  ModelConfig config = small_config();
  config.initializer_range = 0.1;  // large weights would amplify every difference
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.head_dim = 16;
  const auto full = Transformer::initialize(config, 1, at::kBFloat16);
  const auto quantized = Transformer::initialize(config, 1, at::kBFloat16);
  quantized->quantize(GetParam());
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = at::arange(24).unsqueeze(0);
  const at::Tensor expected = full->logits(full->hidden_states(tokens));
  const double error = relative(quantized->logits(quantized->hidden_states(tokens)), expected);
  EXPECT_GT(error, 1e-4);
  EXPECT_LT(error, GetParam() == Quantization::kInt8 ? 0.1 : 0.5);
}

TEST(QuantizedWeight, EightBitsTakeAnyNumberOfInputs) {
  // LibTorch's kernel would read beyond the end of these.
  for (const int64_t in : {1, 20, 36, 72, 100, 104}) {
    const at::Tensor weight = normal({24, in}, 1), input = normal({2, in}, 2).to(at::kBFloat16);
    const QuantizedWeight quantized(weight, Quantization::kInt8, at::kCPU, "w");
    EXPECT_LT(relative(quantized(input), at::linear(input.to(at::kFloat), weight)), 0.015) << in;
  }
}

TEST(QuantizedWeight, OffsetsServeAMatrixThatIsNotCentred) {
  const at::Tensor shifted = normal({32, 128}, 3) * 0.1 + 5;
  // Sixteen levels around zero would be 0.6 apart.
  EXPECT_LT(QuantizedWeight(shifted, Quantization::kInt4, at::kCPU, "w").relative_error(), 0.01);
}

TEST(QuantizedWeight, RefusesWhatCannotBePacked) {
  expect_user_error(
      [] {
        QuantizedWeight(at::ones({32, 40}), Quantization::kInt4, at::kCPU, "model.q_proj");
      },
      {"model.q_proj", "32 x 40", "int8"});
  for (const Quantization kind : {Quantization::kInt8, Quantization::kInt4}) {
    at::Tensor weight = at::ones({32, 64});
    weight[31][63] = std::numeric_limits<float>::quiet_NaN();
    expect_user_error([&] { QuantizedWeight(weight, kind, at::kCPU, "model.k_proj"); },
                      {"model.k_proj", "not finite"});
  }
  expect_user_error([] { parse_quantization("int3"); }, {"int3", "none, int8, int4 or stored"});
}

}  // namespace
}  // namespace predgen
