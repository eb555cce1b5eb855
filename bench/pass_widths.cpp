// CPU time of passes over 1, 17 and 33 tokens (a draft of 32 is verified with the token before it)
// and of a prompt: by our kernels, by LibTorch's operators with our products of few rows, and of
// the matrix products alone. In turn, on one thread of one process.
//
// usage: predgen_width_bench FOLDER fp32|bf16|int8|int4 CONTEXT ROUNDS
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/load_model.h"

namespace predgen {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const std::string& folder, const std::string& kind, int64_t context, int rounds) {
  const bool packed = kind.starts_with("int");
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const auto model = load_model(*open_checkpoint(folder), {},
                                {.device = "cpu",
                                 .dtype = packed ? "bf16" : kind,
                                 .quantization = parse_quantization(packed ? kind : "none")});
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(context + 33);
  const auto seconds = [&](int64_t num_tokens, bool by_kernels) {
    model->set_kernels(by_kernels);
    const TokenIds tokens(static_cast<size_t>(num_tokens), 7);
    const int64_t num_logits = num_tokens == context ? 1 : num_tokens;
    const double start = cpu_seconds();
    model->forward({.state = cache.get(), .tokens = tokens, .num_logits = num_logits});
    const double end = cpu_seconds();
    cache->return_to(num_tokens == context ? context : context - 1);
    return end - start;
  };
  const std::vector<const Linear*> linears = std::as_const(*model).linears();
  const auto product_seconds = [&](int64_t num_tokens) {
    const ModelConfig& config = model->config();
    const auto rows = [&](int64_t in) {
      return at::full({num_tokens, in}, 0.5, at::dtype(model->dtype()));
    };
    const at::Tensor hidden = rows(config.hidden_size), inner = rows(config.intermediate_size),
                     heads = rows(config.num_heads * config.head_dim);
    const double start = cpu_seconds();
    for (const Linear* linear : linears) {
      (*linear)(linear->name.ends_with("down_proj") ? inner
                : linear->name.ends_with("o_proj")  ? heads
                                                    : hidden);
    }
    model->logits(num_tokens == context ? hidden.narrow(0, 0, 1) : hidden);
    return cpu_seconds() - start;
  };
  for (const int64_t num_tokens : {context, int64_t{1}, int64_t{17}, int64_t{33}}) {
    std::vector<double> ours, products, ratios;
    for (int round = -1; round < rounds; ++round) {  // one to warm up
      cache->return_to(num_tokens == context ? 0 : context - 1);
      const double theirs = seconds(num_tokens, false);
      cache->return_to(num_tokens == context ? 0 : context - 1);
      const double own = seconds(num_tokens, true);
      const double product = product_seconds(num_tokens);
      if (round < 0) continue;
      ours.push_back(own);
      products.push_back(product);
      ratios.push_back(own / theirs);
    }
    const auto [low, high] = std::ranges::minmax(ratios);
    fmt::print(
        "{} {}: {} tokens: {:.2f} ms, {:.2f}x the products of few rows alone, {:.2f}x LibTorch's "
        "operators ({:.2f} - {:.2f})\n",
        folder, kind, num_tokens, 1e3 * median(ours), median(ours) / median(products),
        median(ratios), low, high);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace predgen

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: predgen_width_bench FOLDER fp32|bf16|int8|int4 CONTEXT ROUNDS\n", stderr);
    return 2;
  }
  predgen::measure(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
}
