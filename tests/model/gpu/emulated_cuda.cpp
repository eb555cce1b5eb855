#include "tests/model/gpu/emulated_cuda.h"

#include <utility>

#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

EmulatedAccesses* watching = nullptr;
std::vector<const void*> fetched;

bool is_aligned(const void* place) { return reinterpret_cast<uintptr_t>(place) % 16 == 0; }

}  // namespace

void watch_accesses(EmulatedAccesses* accesses) { watching = accesses; }

void multiply_in_emulation(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]) {
  struct Given {
    const uint32_t *weights, *inputs;
  } const mine{weights, inputs};
  exchange_in_emulated_warp(&mine, [&](const void* const* lanes) {
    const auto given = [&](int lane) { return static_cast<const Given*>(lanes[lane]); };
    const int group = lane_index() / 4, pair = lane_index() % 4;
    for (int i = 0; i < 4; ++i) {
      const int output = group + i / 2 * 8, token = 2 * pair + i % 2;
      for (int k = 0; k < 16; k += 2) {
        const int at = k % 8 / 2, late = k / 8;
        const uint32_t w = given(output % 8 * 4 + at)->weights[output / 8 + 2 * late];
        const uint32_t x = given(token * 4 + at)->inputs[late];
        sums[i] += half_of(w, 0) * half_of(x, 0);
        sums[i] += half_of(w, 1) * half_of(x, 1);
      }
    }
  });
}

void fetch_in_emulation(const void* from) { fetched.push_back(from); }
std::vector<const void*> take_fetched() { return std::exchange(fetched, {}); }

float shuffle_in_emulation(float value, int from_lane) {
  float taken = 0.0f;
  exchange_in_emulated_warp(&value, [&](const void* const* given) {
    taken = *static_cast<const float*>(given[from_lane]);
  });
  return taken;
}

void copy_in_emulation(void* to, const void* from, bool is_there) {
  PREDGEN_CHECK(is_aligned(to) && is_aligned(from), "a copy of 16 bytes from {} to {}", from, to);
  if (watching != nullptr) {
    watching->send_copy(to, is_there ? from : nullptr, __builtin_return_address(0));
  }
  memset(to, 0xFF, 16);  // as nothing says what is there until it is waited for
  emulated_copies().back().push_back({to, is_there ? from : nullptr});
}

void end_copies_in_emulation() { emulated_copies().emplace_back(); }

void await_copies_in_emulation(size_t count) {
  auto& parts = emulated_copies();
  for (; parts.size() > count + 1; parts.pop_front()) {  // the last one has not ended
    for (const auto& [to, from] : parts.front()) {
      from != nullptr ? memcpy(to, from, 16) : memset(to, 0, 16);
      if (watching != nullptr) watching->receive_copy(to);
    }
  }
}

void fence_in_emulation() {
  if (watching != nullptr) watching->fence();
}

int add_in_emulation(int* to, int value) {
  yield_in_emulation();
  if (watching != nullptr) watching->use_atomic(to);
  const int before = *to;
  *to += value;
  return before;
}

}  // namespace predgen
