// What a decoding step asks of the heap: this file counts every `new` of the test program.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "model/cpu/cpu_pass.h"
#include "tests/fakes/small_models.h"

namespace {
std::atomic<int64_t> num_requests = 0;
}

void* operator new(size_t size) {
  ++num_requests;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace predgen {
namespace {

TEST(CpuPassMemory, ADecodingStepAsksForNone) {
  const int num_threads = at::get_num_threads();
  at::set_num_threads(2);
  const auto model = Transformer::initialize(small_config(), 1, at::kBFloat16);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_cache(128);
  const TokenIds token{1};
  const auto run = [&](int steps) {
    const int64_t before = num_requests;
    for (int i = 0; i < steps; ++i) {
      model->forward({.cache = cache.get(), .tokens = token, .num_logits = 1});
    }
    return num_requests - before;
  };
  EXPECT_GT(run(1), 0) << "the first one makes room";
  EXPECT_EQ(run(100), 0);
  at::set_num_threads(num_threads);
}

}  // namespace
}  // namespace predgen
