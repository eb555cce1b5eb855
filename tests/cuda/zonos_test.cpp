// The voice model on a device against the CPU in float32; its steps, which on CUDA are graphs,
// against the same arithmetic without one.
#include <cmath>
#include <vector>

#include "tests/cuda/on_device.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/zonos/code_generation.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {
namespace {

constexpr int64_t kPrefix = 10;        // positions of the conditioning
constexpr int64_t kSpokenFrames = 30;  // that are generated
constexpr int64_t kLong = 300;         // columns: the cache grows from 256 positions to 512

/// Wide enough for every kernel.
Json wide_config() {
  Json config = small_zonos_config();
  Json& backbone = config["backbone"];
  backbone["d_model"] = 256;
  backbone["attn_mlp_d_intermediate"] = 512;
  backbone["attn_cfg"]["rotary_emb_dim"] = 64;
  return config;
}

/// Columns int64 [9,count].
at::Tensor random_columns(int64_t count, uint64_t seed) {
  return random_ids(kZonosEmbeddings, {kZonosCodebooks, count}, seed);
}

/// A step as a synthesizer runs it. `graphs`: the model's; null on a CPU.
at::Tensor run_step(const ZonosModel& model, GraphedStep* graphs, const at::Tensor& codes_K,
                    double cfg_scale, ZonosCache& cache) {
  return graphs ? graphs->run(codes_K, cfg_scale, cache) : model.step(codes_K, cfg_scale, cache);
}

/// One utterance whose columns are given.
struct Utterance {
  Utterance(const ZonosModel& zonos, const at::Tensor& columns_KT, std::vector<double> cfg_scales,
            std::shared_ptr<GraphedStep> step_graphs = {})
      : model(&zonos),
        graphs(step_graphs ? std::move(step_graphs) : GraphedStep::make(zonos)),
        columns(columns_KT),
        scales(std::move(cfg_scales)),
        cache(zonos.make_cache(scales.front())) {
    logits.push_back(model->prefill(model->make_prefix(small_zonos_conditioning()),
                                    columns.narrow(1, 0, 1), scales.front(), cache));
  }
  double scale() const { return scales[logits.size() % scales.size()]; }
  at::Tensor column() const {
    return columns.select(1, static_cast<int64_t>(logits.size())).contiguous();
  }
  bool is_over() const { return std::cmp_equal(logits.size(), columns.size(1)); }
  void step() { logits.push_back(run_step(*model, graphs.get(), column(), scale(), cache)); }
  /// What a graph captures, run without one.
  void plain_step() {
    const at::TensorOptions options = at::TensorOptions().device(model->device());
    const int64_t position = cache.length();
    const bool is_new = cache.capacity() < position + 1 || logits.size() == 1;
    cache.reserve(position + 1);
    if (is_new) {  // masked positions must be finite
      cache.storage().narrow(4, position, cache.capacity() - position).zero_();
    }
    logits.push_back(model
                         ->step_on_device(column().to(model->device()),
                                          at::full({1}, position, options.dtype(at::kLong)),
                                          at::full({}, scale(), options.dtype(at::kFloat)),
                                          cache.capacity(), cache)
                         .cpu());
    cache.set_length(position + 1);
  }
  at::Tensor finish(bool plainly = false) {
    while (!is_over()) plainly ? plain_step() : step();
    return at::stack(logits);
  }

  const ZonosModel* model;
  std::shared_ptr<GraphedStep> graphs;
  at::Tensor columns;
  std::vector<double> scales;
  ZonosCache cache;
  std::vector<at::Tensor> logits;  // one [9,1025] a column
};

class ZonosOnDevice : public OnDevice {
 protected:
  ZonosOnDevice() { write(folder_.path(), 0.0); }
  /// The fixture's model, each weight off by so much of it.
  static void write(const std::filesystem::path& folder, double error) {
    write_small_transformer(folder, wide_config(), [&](auto& tensors) {
      for (auto& [name, tensor] : tensors) {
        if (tensor.dim() == 2 && tensor.size(1) > 32) tensor *= std::sqrt(32.0 / 256.0);
        if (error > 0) tensor *= 1 + error * normal(tensor.sizes(), name.size());
      }
    });
  }
  std::unique_ptr<ZonosModel> load(const std::string& device, const std::string& dtype,
                                   Quantization quantization = Quantization::kNone) const {
    return ZonosModel::load(folder_.path(), {device, dtype, quantization});
  }

  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, ZonosOnDevice, devices(), device_name);

TEST_P(ZonosOnDevice, StepsAreNearThoseOfTheCpu) {
  const auto reference = load("cpu", "fp32"), model = load(GetParam(), "fp32");
  EXPECT_EQ(model->device().type(), device().type());
  const at::Tensor columns = random_columns(kLong, 1);
  for (const std::vector<double>& scales :
       std::vector<std::vector<double>>{{1.0}, {2.0}, {2.0, 1.5, 0.0, 3.0, 1.0}}) {
    Utterance expected(*reference, columns, scales), found(*model, columns, scales);
    const at::Tensor exact = expected.finish();
    EXPECT_GT(exact.std().item<double>(), 0.5);
    EXPECT_LE(largest(found.finish() - exact), 1e-3) << scales.back();
    EXPECT_EQ(found.cache.length(), kPrefix + kLong);
    EXPECT_EQ(found.cache.capacity(), 512);
    EXPECT_EQ(found.cache.rows(), scales.front() == 1.0 ? 1 : 2);
  }
}

TEST_P(ZonosOnDevice, NarrowTypesStayNear) {
  const auto reference = load("cpu", "fp32");
  const at::Tensor columns = random_columns(kLong, 1);
  for (const double scale : {1.0, 2.0}) {
    const at::Tensor exact = Utterance(*reference, columns, {scale}).finish();
    const auto error = [&](Quantization quantization) {
      const auto model = load(GetParam(), "bf16", quantization);
      return relative(Utterance(*model, columns, {scale}).finish(), exact);
    };
    const double rounded = error(Quantization::kNone), quantised = error(Quantization::kInt8);
    EXPECT_LT(rounded, 0.1) << scale;
    EXPECT_GT(rounded, 1e-4) << scale;
    EXPECT_LT(quantised, 0.12) << scale;
    EXPECT_GT(quantised, 1e-4) << scale;
  }
}

/// float32, bfloat16 and 8-bit weights, with and without guidance.
TEST_P(ZonosOnDevice, AGraphGivesWhatItsArithmeticGives) {
  if (device().is_cuda()) {
    ASSERT_TRUE(cuda_support().module->make_graph_memory);
  }
  const at::Tensor columns = random_columns(kLong, 2);
  for (const auto& [dtype, quantization, bound] : {std::tuple{"fp32", Quantization::kNone, 1e-5},
                                                   {"bf16", Quantization::kNone, 0.05},
                                                   {"bf16", Quantization::kInt8, 0.05}}) {
    const auto model = load(GetParam(), dtype, quantization);
    for (const std::vector<double>& scales :
         std::vector<std::vector<double>>{{1.0}, {2.0, 1.5, 3.0}}) {
      const at::Tensor plain = Utterance(*model, columns, scales).finish(/*plainly=*/true);
      const at::Tensor graphed = Utterance(*model, columns, scales).finish();
      EXPECT_LE(relative(graphed, plain), bound) << dtype << ", " << scales.back();
    }
  }
}

TEST_P(ZonosOnDevice, UtterancesTakeTurnsToTheBit) {
  for (const char* dtype : {"fp32", "bf16"}) {
    const auto model = load(GetParam(), dtype);
    const at::Tensor first = random_columns(kLong, 3), second = random_columns(kLong, 4);
    const at::Tensor expected_a = Utterance(*model, first, {2.0}).finish();
    const at::Tensor expected_b = Utterance(*model, second, {3.0}).finish();
    ASSERT_GT(largest(expected_a - expected_b), 0.1);

    Utterance a(*model, first, {2.0}), b(*model, second, {3.0}, a.graphs);
    for (int64_t t = 1; t < kLong; ++t) {
      a.step();
      if (t % 3 != 0) b.step();  // so that each is in a bucket of its own for a while
    }
    EXPECT_TRUE(at::equal(at::stack(a.logits), expected_a)) << dtype;
    EXPECT_TRUE(at::equal(b.finish(), expected_b)) << dtype;
  }
}

TEST_P(ZonosOnDevice, GreedyCodesAreThoseOfTheCpu) {
  const auto reference = load("cpu", "fp32"), model = load(GetParam(), "fp32");
  // Whose choices differ only where margins are small, as no device's roundings reach.
  const TemporaryFolder near;
  write(near.path(), 0.3 * kMargin);
  const auto other = ZonosModel::load(near.path(), {"cpu", "fp32"});
  for (const double scale : {1.0, 2.0}) {
    CodeGenerationConfig config;
    config.cfg_scale = scale;
    config.max_new_frames = kSpokenFrames;
    config.sampling.temperature = 0;
    config.sampling.eos_penalty = 100;  // all of them
    ZonosConditioning conditioning = small_zonos_conditioning();
    const auto codes = [&](const ZonosModel& zonos) {
      const std::unique_ptr<GraphedStep> graphs = GraphedStep::make(zonos);
      CodeGeneration generation(zonos, zonos.make_prefix(conditioning), config, {}, graphs.get());
      while (generation.step()) {
      }
      return generation.codes();
    };
    at::Tensor expected = codes(*reference);
    while (!at::equal(codes(*other), expected)) {
      conditioning.fmax = *conditioning.fmax - 500.0f;
      ASSERT_GT(*conditioning.fmax, 0.0f) << "codes with a margin are rare";
      expected = codes(*reference);
    }
    ASSERT_EQ(expected.sizes(), (at::IntArrayRef{kZonosCodebooks, kSpokenFrames}));
    EXPECT_GT(std::get<0>(at::_unique(expected)).numel(), 50);
    EXPECT_TRUE(at::equal(codes(*model), expected)) << scale;
  }
}

}  // namespace
}  // namespace predgen
