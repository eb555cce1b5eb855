#include "voice/zonos/zonos_model.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tensors.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

at::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  return normal(sizes, seed).to(at::kBFloat16);
}

TEST(ZonosMatrix, AnyInputsTakeSomeWay) {
  const at::Tensor weight = random({24, 48}, 1), x = random({2, 3, 48}, 2);
  const ZonosMatrix whole(weight, Quantization::kNone, at::kCPU, "w");
  EXPECT_TRUE(at::equal(whole(x), at::linear(x, weight)));
  const ZonosMatrix quantized(weight, Quantization::kInt8, at::kCPU, "w");
  EXPECT_EQ(quantized(x).sizes(), (at::IntArrayRef{2, 3, 24}));
  EXPECT_LT(relative(quantized(x), whole(x)), 0.02);
}

TEST(ZonosMatrix, FewRowsAndManyGiveTheSame) {
  const at::Tensor weight = random({100, 128}, 1), x = random({2, 1, 128}, 2);
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8}) {
    const ZonosMatrix matrix(weight, kind, at::kCPU, "w");
    const at::Tensor two = matrix(x), many = matrix(x.repeat({12, 1, 1}));
    EXPECT_EQ(two.sizes(), (at::IntArrayRef{2, 1, 100}));
    EXPECT_LT(relative(two, many.narrow(0, 0, 2)), 0.01);
  }
}

const LoadOptions kExact{.device = "cpu", .dtype = "fp32"};

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

/// Guided logits [T,9,1025] of the columns of `codes_KT`, one after the other.
at::Tensor run(const ZonosModel& model, const at::Tensor& prefix, const at::Tensor& codes_KT,
               ZonosCache& cache, double cfg_scale = 2.0) {
  std::vector<at::Tensor> logits{model.prefill(prefix, codes_KT.narrow(1, 0, 1), cfg_scale, cache)};
  for (int64_t t = 1; t < codes_KT.size(1); ++t) {
    logits.push_back(model.step(codes_KT.select(1, t).contiguous(), cfg_scale, cache));
  }
  return at::stack(logits);
}

at::Tensor run(const ZonosModel& model, const at::Tensor& prefix, const at::Tensor& codes_KT,
               double cfg_scale = 2.0) {
  ZonosCache cache = model.make_cache(cfg_scale);
  return run(model, prefix, codes_KT, cache, cfg_scale);
}

at::Tensor random_codes(int64_t count) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  return at::randint(0, kZonosEmbeddings, {kZonosCodebooks, count}, generator, at::kLong);
}

TEST_F(ZonosGolden, LogitsAreThoseOfTheOfficialCode) {
  const at::Tensor expected = golden("forced_logits");
  const at::Tensor found =
      run(*model_, model_->make_prefix(conditioning()), golden("forced_codes")[0]);
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE(largest(found - expected), 1e-4);
}

class SmallZonos : public testing::Test {
 protected:
  void SetUp() override {
    write_small_transformer(folder_.path());
    model_ = load(kExact);
    prefix_ = model_->make_prefix(small_zonos_conditioning());
  }
  std::unique_ptr<ZonosModel> load(const LoadOptions& options) const {
    return ZonosModel::load(folder_.path(), options);
  }
  double relative_error(const LoadOptions& options, const at::Tensor& codes) const {
    const auto model = load(options);
    const at::Tensor exact = run(*model_, prefix_, codes);
    const at::Tensor found = run(*model, model->make_prefix(small_zonos_conditioning()), codes);
    return ((found - exact).norm() / exact.norm()).item<double>();
  }
  TemporaryFolder folder_;
  std::unique_ptr<ZonosModel> model_;
  at::Tensor prefix_;
};

TEST_F(SmallZonos, StepsEqualOnePassThroughEveryBucket) {
  // 10 positions of prefix: the cache grows from 256 to 512 on the way.
  const at::Tensor codes = random_codes(300);
  ZonosCache cache = model_->make_cache(2.0);
  EXPECT_EQ(cache.capacity(), 256);
  const at::Tensor steps = run(*model_, prefix_, codes, cache);
  EXPECT_EQ(cache.length(), 310);
  EXPECT_EQ(cache.capacity(), 512);
  for (const int64_t count : {1, 2, 100, 246, 247, 300}) {
    ZonosCache whole = model_->make_cache(2.0);
    const at::Tensor logits = model_->prefill(prefix_, codes.narrow(1, 0, count), 2.0, whole);
    EXPECT_LE(largest(logits - steps[count - 1]), 1e-4) << count;
  }
}

TEST_F(SmallZonos, TheStepOfAGraphIsTheSame) {
  const at::Tensor codes = random_codes(260);
  ZonosCache cache = model_->make_cache(2.0), fixed = model_->make_cache(2.0);
  const at::Tensor exact = run(*model_, prefix_, codes, cache);
  model_->prefill(prefix_, codes.narrow(1, 0, 1), 2.0, fixed);
  const at::Tensor scale = at::scalar_tensor(2.0, at::kFloat);
  // Masked positions count for nothing, whatever finite numbers an older utterance left there.
  const auto soil = [&](int64_t from) {
    fixed.storage().narrow(4, from, fixed.capacity() - from).fill_(1e4);
  };
  soil(fixed.length());
  for (int64_t t = 1; t < codes.size(1); ++t) {
    const int64_t position = fixed.length(), capacity = fixed.capacity();
    fixed.reserve(position + 1);
    if (fixed.capacity() != capacity) soil(position);
    const at::Tensor logits =
        model_->step_on_device(codes.select(1, t).contiguous(), at::full({1}, position, at::kLong),
                               scale, fixed.capacity(), fixed);
    fixed.set_length(position + 1);
    ASSERT_LE(largest(logits - exact[t]), 1e-4) << t;
  }
}

TEST_F(SmallZonos, NothingAfterTheLengthIsRead) {
  const at::Tensor codes = random_codes(20);
  const at::Tensor expected = run(*model_, prefix_, codes);
  ZonosCache cache = model_->make_cache(2.0);
  cache.storage().fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(at::equal(run(*model_, prefix_, codes, cache), expected));
}

TEST_F(SmallZonos, WithoutGuidanceOneRowRuns) {
  const at::Tensor codes = random_codes(10);
  ZonosCache cache = model_->make_cache(1.0);
  EXPECT_EQ(cache.rows(), 1);
  EXPECT_EQ(2 * cache.storage().nbytes(), model_->make_cache(2.0).storage().nbytes());
  const at::Tensor one = run(*model_, prefix_, codes, cache, 1.0);
  const at::Tensor two = run(*model_, prefix_, codes, 2.0), zero = run(*model_, prefix_, codes, 0);
  EXPECT_LE(largest(two - (zero + 2.0 * (one - zero))), 1e-3);
  EXPECT_GT(largest(two - one), 1e-2);
}

TEST_F(SmallZonos, RoundedWeightsStayNear) {
  const at::Tensor codes = random_codes(20);
  const double rounded = relative_error({.device = "cpu", .dtype = "bf16"}, codes);
  EXPECT_LT(rounded, 0.06);
  EXPECT_GT(rounded, 1e-4);
  const double quantized =
      relative_error({.device = "cpu", .quantization = Quantization::kInt8}, codes);
  EXPECT_LT(quantized, 0.08);
  EXPECT_GT(quantized, 1e-4);
}

TEST_F(SmallZonos, ContextHasAnEnd) {
  expect_user_error([&] { ZonosCache::bucket(kZonosMaxPositions + 1); }, {"16385", "16384"});
  ZonosCache cache = model_->make_cache(2.0);
  const at::Tensor codes = at::zeros({kZonosCodebooks, kZonosMaxPositions}, at::kLong);
  expect_user_error([&] { model_->prefill(prefix_, codes, 2.0, cache); }, {"16394", "16384"});
  cache.reserve(kZonosMaxPositions);
  cache.storage().zero_();
  cache.set_length(kZonosMaxPositions - 1);
  const at::Tensor column = at::zeros({kZonosCodebooks}, at::kLong);
  EXPECT_TRUE(at::isfinite(model_->step(column, 2.0, cache)).all().item<bool>());
  expect_user_error([&] { model_->step(column, 2.0, cache); }, {"16385", "16384"});
}

TEST_F(SmallZonos, Int4IsRefused) {
  expect_user_error([&] { load({.device = "cpu", .quantization = Quantization::kInt4}); },
                    {"int8"});
}

TEST(ZonosWeights, TheFileHoldsExactlyWhatTheModelNeeds) {
  using Tensors = std::map<std::string, at::Tensor>;
  const auto refuse = [](const std::function<void(Tensors&)>& edit,
                         std::vector<std::string> parts) {
    const TemporaryFolder folder;
    write_small_transformer(folder.path(), small_zonos_config(), edit);
    parts.push_back("model.safetensors");
    expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, parts);
  };
  refuse([](Tensors& all) { all.erase("heads.8.weight"); }, {"heads.8.weight", "missing"});
  refuse([](Tensors& all) { all["heads.9.weight"] = at::zeros({1025, 32}); }, {"heads.9.weight"});
  refuse(
      [](Tensors& all) {
        all["heads.0.weight"] = at::zeros({1026, 32});
      },
      {"heads.0.weight", "[1026, 32]", "[1025, 32]"});
  refuse([](Tensors& all) { all["backbone.layers.1.norm2.bias"] = at::zeros({32}, at::kLong); },
         {"backbone.layers.1.norm2.bias", "Long"});
  refuse([](Tensors& all) { all["backbone.layers.2.norm.bias"] = at::zeros({32}); },
         {"backbone.layers.2.norm.bias"});
}

TEST(ZonosWeights, MissingAndBrokenFilesAreNamed) {
  const TemporaryFolder folder;
  expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, {"config.json"});
  write_file(folder / "config.json", "{");
  expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, {"config.json"});
  write_file(folder / "config.json", "[]");
  expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, {"config.json", "object"});
  write_file(folder / "config.json", small_zonos_config().dump());
  expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, {"model.safetensors"});
  write_file(folder / "model.safetensors", "too short");
  expect_user_error([&] { ZonosModel::load(folder.path(), kExact); }, {"model.safetensors"});
}

}  // namespace
}  // namespace predgen
