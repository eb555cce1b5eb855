// What a decoding step asks of the allocator that the program is linked with.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <jemalloc/jemalloc.h>

#include "model/cpu/cpu_pass.h"
#include "tests/fakes/small_models.h"

namespace predgen {
namespace {

/// Bytes that this thread has asked for so far.
int64_t allocated() {
  uint64_t bytes = 0;
  size_t size = sizeof(bytes);
  EXPECT_EQ(mallctl("thread.allocated", &bytes, &size, nullptr, 0), 0);
  return static_cast<int64_t>(bytes);
}

TEST(CpuPassMemory, ADecodingStepAsksForNone) {
  at::set_num_threads(2);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = Transformer::initialize(small_config(), 1, type);
    KvPool pool(model->kv_layout());
    const auto cache = pool.make_state(128);
    const TokenIds token{1};
    const auto bytes_of = [&](int steps) {
      const int64_t before = allocated();
      for (int i = 0; i < steps; ++i) {
        model->forward({.state = cache.get(), .tokens = token, .num_logits = 1});
      }
      return allocated() - before;
    };
    EXPECT_GT(bytes_of(1), 0) << "the first one makes room";
    EXPECT_EQ(bytes_of(100), 0);
  }
}

}  // namespace
}  // namespace predgen
