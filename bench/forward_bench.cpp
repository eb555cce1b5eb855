// One forward pass of the demo model's shape over a filled cache, by number of new tokens: decode
// is 1, a verification pass 16 to 64. The ratio to width 1 is what speculation relies on.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "model/configure_math.h"
#include "model/transformer.h"

namespace predgen {
namespace {

void forward_width(benchmark::State& state) {
  ModelConfig config;
  config.architecture = "Qwen2ForCausalLM";
  config.vocab_size = 4096;
  config.hidden_size = 320;
  config.intermediate_size = 896;
  config.num_layers = 6;
  config.num_heads = 5;
  config.num_kv_heads = 1;
  config.head_dim = 64;
  config.max_positions = 1024;
  config.tie_word_embeddings = true;
  config.block.qkv_bias = true;
  constexpr int64_t kContext = 256;
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_cache(config.max_positions);
  model->forward({.cache = cache.get(), .tokens = TokenIds(kContext, 7)});
  const TokenIds tokens(static_cast<size_t>(state.range(0)), 11);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        model->forward({.cache = cache.get(), .tokens = tokens, .num_logits = state.range(0)}));
    cache->truncate(kContext);
  }
}
BENCHMARK(forward_width)->Arg(1)->Arg(4)->Arg(16)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace predgen

int main(int argc, char** argv) {
  predgen::configure_math();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
