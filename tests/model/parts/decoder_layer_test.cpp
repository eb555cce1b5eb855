#include "model/parts/decoder_layer.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/attention_masks.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

at::Tensor half_normal(at::IntArrayRef sizes, uint64_t seed) { return normal(sizes, seed) * 0.5; }

// What a GPU's kernels need must mean the same on any device.
TEST(DecoderLayer, FoldedMasksMeanTheSame) {
  ModelConfig config = small_config();
  const int64_t T = 6, past = 5;
  set_windows(config, {0, 4});
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const WeightSpec& spec : weight_layout(config)) shapes[spec.name] = spec.shape;
  for (const int64_t index : {0, 1}) {
    const DecoderLayer layer(config, index, [&](const std::string& name) {
      const auto shape = shapes.find(name);
      return shape == shapes.end() ? at::Tensor() : half_normal(shape->second, name.size());
    });
    const at::Tensor positions = at::arange(past, past + T).unsqueeze(0);
    const std::vector<Rotation> rotations =
        make_rotations(config, config.inverse_frequencies(), positions, at::kFloat);
    const auto run = [&](int64_t num_folded) {
      KvPool pool({config.num_layers(), config.num_kv_heads, config.head_dim, at::kFloat});
      const auto cache = pool.make_state(past + T);
      cache->append(index, half_normal({1, config.num_kv_heads, past, config.head_dim}, 1),
                    half_normal({1, config.num_kv_heads, past, config.head_dim}, 2));
      cache->commit(past);
      CachedRows rows{cache.get(), T, AttentionMasks({}, {}, T, past, num_folded, at::kFloat)};
      EXPECT_EQ(rows.masks(layer.window()).size(-2), num_folded * T);
      return layer(config, half_normal({1, T, config.hidden_size}, 3), rotations, {&rows, 1});
    };
    const at::Tensor plain = run(1);
    EXPECT_GT(plain.std().item<double>(), 0.1);
    EXPECT_LE((run(2) - plain).abs().max().item<double>(), 1e-5) << index;
  }
}

}  // namespace
}  // namespace predgen
