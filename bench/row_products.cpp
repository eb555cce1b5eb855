// Products of few rows on the CPU by our kernels and by what LibTorch has for the same weights, in
// turn, beside what a loop that only reads takes for the same bytes: least times of a matrix in
// microseconds, of one thread its CPU time. Each pass goes through copies that no cache holds.
//
// usage: predgen_row_bench THREADS ROUNDS [demo]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/grouped_matrix.h"
#include "kernels/threads/thread_team.h"
#include "model/row_product.h"

namespace predgen {
namespace {

constexpr int64_t kCopiedBytes = 96 << 20, kGroup = 128;
constexpr double kWork = 2e9;  // multiplications of a pass, about

using Product = std::function<at::Tensor(const at::Tensor& x, size_t copy)>;

struct Kind {
  const char* name;
  int64_t bytes;  // of one copy
  std::vector<at::Tensor> copies{};
  Product ours{}, libtorch{};
};

int64_t count_copies(int64_t bytes) { return std::max<int64_t>(1, kCopiedBytes / bytes); }

Kind bfloat16_kind(int64_t out, int64_t in) {
  Kind kind{.name = "bf16", .bytes = 2 * out * in};
  for (int64_t i = 0; i < count_copies(kind.bytes); ++i) {
    kind.copies.push_back(at::randn({out, in}).to(at::kBFloat16));
  }
  const auto copies = kind.copies;
  kind.ours = [=](const at::Tensor& x, size_t i) { return few_row_linear(x, copies[i], {}); };
  kind.libtorch = [=](const at::Tensor& x, size_t i) { return at::linear(x, copies[i]); };
  return kind;
}

Kind int8_kind(int64_t out, int64_t in) {
  Kind kind{.name = "int8", .bytes = out * in};
  for (int64_t i = 0; i < count_copies(kind.bytes); ++i) {
    kind.copies.push_back(at::randint(-127, 128, {out, in}, at::kChar));
  }
  const auto copies = kind.copies;
  const at::Tensor scales = at::ones({out}, at::kBFloat16);
  kind.ours = [=](const at::Tensor& x, size_t i) { return int8_product(x, copies[i], scales); };
  kind.libtorch = [=](const at::Tensor& x, size_t i) {
    return x.size(0) <= 16 ? at::_weight_int8pack_mm(x, copies[i], scales)
                           : at::linear(x, copies[i].to(at::kBFloat16)) * scales;
  };
  return kind;
}

/// Groups of `group` inputs; LibTorch has a kernel for 4 bits with offsets in groups of 32 and
/// more.
Kind grouped_kind(const char* name, int bits, int64_t group, bool has_offsets, int64_t out,
                  int64_t in, const std::optional<CodeBook>& book = {}) {
  const int64_t num_scales = out * in / group * (has_offsets ? 2 : 1);
  Kind kind{.name = name, .bytes = out * in * bits / 8 + 2 * num_scales};
  const at::Tensor ones = at::ones({out, in / group}, at::kHalf);
  std::vector<GroupedMatrix> matrices;
  std::vector<at::Tensor> theirs;
  for (int64_t i = 0; i < count_copies(kind.bytes); ++i) {
    const at::Tensor words = pack_words(at::randint(0, 1 << bits, {out, in}, at::kByte), bits);
    matrices.push_back({.bits = bits,
                        .out = out,
                        .words = words,
                        .scales = pack_scales(ones, has_offsets ? ones : at::Tensor()),
                        .book = book});
    kind.copies.push_back(words);
    if (bits == 4) theirs.push_back(words.view(at::kByte).view({out, in / 2}));
  }
  kind.ours = [=](const at::Tensor& x, size_t i) { return grouped_product(x, matrices[i]); };
  if (bits == 4 && has_offsets && group >= 32) {
    const at::Tensor their_scales = at::ones({in / group, out, 2}, at::kBFloat16);
    kind.libtorch = [=](const at::Tensor& x, size_t i) {
      return at::_weight_int4pack_mm_for_cpu(x, theirs[i], group, their_scales);
    };
  }
  return kind;
}

double now() {
  if (at::get_num_threads() == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

/// Microseconds for each of the copies that it is given.
double microseconds(size_t count, const std::function<void(size_t copy)>& run) {
  const double start = now();
  for (size_t copy = 0; copy < count; ++copy) run(copy);
  return 1e6 * (now() - start) / static_cast<double>(count);
}

void read(const at::Tensor& tensor) {
  const auto* words = static_cast<const uint64_t*>(tensor.const_data_ptr());
  static std::atomic<uint64_t> kept;
  parallel_ranges(static_cast<int64_t>(tensor.nbytes() / 8), 4096, [&](int64_t begin, int64_t end) {
    uint64_t sums[8] = {};
    for (int64_t i = begin; i + 8 <= end; i += 8) {
      for (int64_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    }
    for (const uint64_t sum : sums) kept += sum;
  });
}

void measure(const Kind& kind, int64_t out, int64_t in, int rounds) {
  for (const int64_t rows : {1, 2, 4, 8, 16, 32, 64, 512}) {
    const at::Tensor x = at::randn({rows, in}).to(at::kBFloat16);
    const double work = static_cast<double>(rows * in * out);
    const auto count = std::clamp<size_t>(static_cast<size_t>(kWork / work), 1, kind.copies.size());
    double ours = std::numeric_limits<double>::max(), libtorch = ours, reading = ours;
    for (int round = 0; round < rounds; ++round) {
      ours = std::min(ours, microseconds(count, [&](size_t i) { kind.ours(x, i); }));
      if (kind.libtorch) {
        libtorch = std::min(libtorch, microseconds(count, [&](size_t i) { kind.libtorch(x, i); }));
      }
      reading = std::min(reading,
                         microseconds(kind.copies.size(), [&](size_t i) { read(kind.copies[i]); }));
    }
    const std::string beside = kind.libtorch
                                   ? fmt::format("{:>8.0f} ({:>5.2f}x)", libtorch, libtorch / ours)
                                   : "       -         ";
    fmt::print(
        "{:<7} {:>6} -> {:>6} {:>3} rows: ours {:>8.0f}  LibTorch {}  {:>5.1f} of "
        "{:.1f} GB/s ({:>3.0f} %)  {:.0f} G/s\n",
        kind.name, in, out, rows, ours, beside, 1e-3 * static_cast<double>(kind.bytes) / ours,
        1e-3 * static_cast<double>(kind.copies[0].nbytes()) / reading,
        100 * reading / ours * static_cast<double>(kind.bytes) /
            static_cast<double>(kind.copies[0].nbytes()),
        1e-3 * work / ours);
    std::fflush(stdout);
  }
}

void measure_all(int threads, int rounds, bool is_demo) {
  const c10::InferenceMode inference;
  at::set_num_threads(threads);
  fmt::print("{} threads, {}\n", threads, at::get_cpu_capability());
  using Shapes = std::vector<std::pair<int64_t, int64_t>>;
  const Shapes shapes =
      is_demo ? Shapes{{256, 256}, {704, 256}, {256, 704}, {4096, 256}}
              : Shapes{{896, 896}, {4864, 896}, {896, 4864}, {151936, 896}};  // Qwen2.5-0.5B
  for (const auto& [out, in] : shapes) {
    measure(bfloat16_kind(out, in), out, in, rounds);
    measure(int8_kind(out, in), out, in, rounds);
    if (in % kGroup == 0) {
      measure(grouped_kind("int4", 4, kGroup, true, out, in), out, in, rounds);
    }
    // As GGUF's Q4_0, Q4_K, Q8_0 and Q6_K run.
    measure(grouped_kind("4x32", 4, 32, false, out, in), out, in, rounds);
    measure(grouped_kind("4x32+o", 4, 32, true, out, in), out, in, rounds);
    measure(grouped_kind("8x32", 8, 32, false, out, in), out, in, rounds);
    measure(grouped_kind("8x16", 8, 16, false, out, in), out, in, rounds);
    // As MXFP4 and IQ4_NL, and as NF4.
    measure(grouped_kind("book", 4, 32, false, out, in, CodeBook(kDoubledFp4)), out, in, rounds);
    const CodeBook thirds(CodeValues{-1, -1.0f / 3, 1.0f / 3, 1});
    measure(grouped_kind("book2", 4, 64, false, out, in, thirds), out, in, rounds);
  }
}

}  // namespace
}  // namespace predgen

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fputs("usage: predgen_row_bench THREADS ROUNDS [demo]\n", stderr);
    return 2;
  }
  predgen::measure_all(std::atoi(argv[1]), std::atoi(argv[2]), argc == 4);
}
