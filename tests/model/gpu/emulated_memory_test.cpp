// The kernels for GPUs with every access checked and blocks at the same time, and that faults of
// each kind are seen.
#include "tests/model/gpu/emulated_memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/half.h"
#include "tests/model/gpu/attention_memory.h"
#include "tests/model/gpu/emulated_kernels.h"
#include "tests/model/gpu/planted_kernels.h"
#include "tests/model/gpu/planted_product.h"

namespace predgen {
namespace {

constexpr auto kInOrder = ThreadOrder::kAscending;

std::string text_of(const EmulationReport& report) {
  std::string text;
  for (const std::string& problem : report.problems) text += problem + "\n";
  return text;
}

/// Runs `launch` with kernels whose blocks run one by one, and then at the same time with every
/// access checked. `y`: the result, of which all runs must give the same bytes.
template <class T, class Launch>
EmulationReport check(const Launch& launch, Buffer<T>& y, size_t count) {
  launch(emulated_kernels(kInOrder));
  const std::vector<T> expected(y.data(), y.data() + count);
  EmulationReport report;
  for (const uint64_t seed : {1, 2}) {
    std::fill_n(y.data(), count, T{});
    const EmulationChecks checks(seed);
    launch(emulated_kernels(EmulatedSchedule(seed, 3)));
    report = checks.report();
    EXPECT_EQ(text_of(report), "") << "seed " << seed;
    EXPECT_EQ(memcmp(expected.data(), y.data(), count * sizeof(T)), 0) << "seed " << seed;
  }
  EXPECT_GT(report.num_accesses, 100);
  return report;
}

struct Product {
  int bits;
  int64_t out, in;
  int group;
  GpuScaling scaling;
  int book_bytes;
  int64_t rows;
};

/// Random memory for a product and its arguments.
class ProductMemory {
 public:
  explicit ProductMemory(const Product& kind)
      : numbers_(7),
        words_(num_words(kind)),
        scales_(num_scales(kind)),
        x_(numbers_.halves(static_cast<size_t>(kind.rows * kind.in))),
        bias_(numbers_.halves(static_cast<size_t>(kind.out))),
        y_(2 * num_outputs(kind)),
        parts_(static_cast<size_t>(num_gpu_parts(kind.out, 8))),
        counters_(static_cast<size_t>(num_gpu_counters(kind.out))) {
    std::generate_n(words_.data(), num_words(kind),
                    [&] { return kind.bits == 16 ? numbers_.pair() : numbers_.bits(); });
    std::generate_n(scales_.data(), num_scales(kind), [&]() -> uint16_t {
      if (kind.scaling != GpuScaling::kExponents) return to_half(numbers_.next() / 16);
      const uint32_t two = numbers_.bits() & 0x0707;
      return static_cast<uint16_t>(two + 0x7878);
    });
    product = {.words = words_.data(),
               .scales = scales_.data(),
               .bits = kind.bits,
               .group = kind.group,
               .scaling = kind.scaling,
               .book = {},
               .in = kind.in,
               .out = kind.out,
               .x = x_.data(),
               .bias = bias_.data(),
               .y = y_.data(),
               .rows = kind.rows,
               .is_wide = false,
               .num_splits = 0,
               .counters = counters_.data(),
               .parts = parts_.data()};
    product.book.num_bytes = kind.book_bytes;
    for (int i = 0; i < 4 && kind.book_bytes > 0; ++i) {
      product.book.high[i] = numbers_.bits();
      product.book.low[i] = numbers_.bits();
    }
  }
  static size_t num_outputs(const Product& kind) {
    return static_cast<size_t>(kind.rows * kind.out);
  }
  Buffer<uint16_t>& y() { return y_; }
  /// In float32.
  std::vector<uint32_t> result(const Product& kind) {
    std::vector<uint32_t> values(num_outputs(kind));
    memcpy(values.data(), y_.data(), values.size() * 4);
    return values;
  }
  GpuGroupProduct product;

 private:
  static size_t num_panels(const Product& kind) {
    return static_cast<size_t>((kind.out + 15) / 16);
  }
  static size_t num_words(const Product& kind) {
    if (kind.bits == 16) return static_cast<size_t>(kind.out * kind.in / 2);
    const int64_t chunk = kind.bits == 8 ? 32 : 64;
    const size_t words = kind.bits == 5 ? 160 : kind.bits == 6 ? 192 : 128;
    return num_panels(kind) * static_cast<size_t>((kind.in + chunk - 1) / chunk) * words;
  }
  static size_t num_scales(const Product& kind) {
    if (kind.bits == 16) return 0;
    if (is_of_gpu_blocks(kind.scaling)) {
      const size_t halves = kind.scaling == GpuScaling::kSixBits ? 128 : 144;
      return num_panels(kind) * static_cast<size_t>(kind.in / kGpuBlockInputs) * halves;
    }
    const size_t groups = static_cast<size_t>(kind.in / kind.group);
    if (kind.scaling == GpuScaling::kExponents) return num_panels(kind) * groups * 8;
    return num_panels(kind) * groups * 16 * (has_gpu_offsets(kind.scaling) ? 2 : 1);
  }

  Numbers numbers_;
  Buffer<uint32_t> words_;
  Buffer<uint16_t> scales_, x_, bias_, y_;
  Buffer<float> parts_;
  Buffer<int> counters_;
};

EmulationReport check_product(const Product& kind, int num_splits) {
  ProductMemory memory(kind);
  memory.product.num_splits = num_splits;
  return check([&](const GpuKernels& kernels) { kernels.group_product(memory.product, nullptr); },
               memory.y(), ProductMemory::num_outputs(kind));
}

TEST(CheckedKernels, ProductsOfEveryInstance) {
  using enum GpuScaling;
  const std::pair<Product, int> kinds[] = {
      // kind, splits
      {{4, 48, 1024, 32, kSixBits, 0, 1}, 1},     {{5, 33, 512, 32, kSixBits, 0, 3}, 1},
      {{6, 40, 768, 16, kEightBits, 0, 8}, 1},    {{4, 144, 512, 32, kSixBits, 0, 9}, 4},
      {{5, 16, 256, 32, kSixBits, 0, 20}, 8},     {{6, 144, 512, 16, kEightBits, 0, 17}, 4},
      {{4, 48, 640, 128, kHalfOffsets, 0, 1}, 1}, {{4, 16, 640, 64, kHalfOffsets, 0, 2}, 1},
      {{5, 16, 320, 32, kHalfOffsets, 0, 4}, 1},  {{5, 32, 544, 32, kHalf, 0, 8}, 1},
      {{5, 144, 352, 32, kHalfOffsets, 0, 9}, 4}, {{5, 33, 608, 32, kHalf, 0, 20}, 8},
      {{4, 40, 352, 32, kExponents, 1, 3}, 1},    {{4, 144, 608, 32, kExponents, 1, 17}, 4},
      {{8, 16, 320, 32, kHalf, 0, 4}, 1},         {{4, 16, 576, 64, kHalf, 1, 3}, 1},
      {{4, 33, 576, 32, kHalf, 0, 9}, 8},         {{4, 144, 576, 16, kHalfOffsets, 0, 17}, 4},
      {{8, 19, 304, 304, kHalf, 0, 30}, 1},       {{8, 24, 160, 16, kHalf, 0, 41}, 1},
      {{4, 16, 576, 64, kHalf, 2, 20}, 4},        {{4, 16, 576, 128, kHalfOffsets, 0, 70}, 1},
      {{16, 40, 648, 648, kHalf, 0, 3}, 1},       {{16, 24, 72, 72, kHalf, 0, 8}, 1},
      {{16, 144, 584, 584, kHalf, 0, 20}, 4},     {{16, 33, 1096, 1096, kHalf, 0, 9}, 8},
      {{16, 16, 200, 200, kHalf, 0, 70}, 1},      {{4, 16, 128, 64, kHalfOffsets, 0, 150}, 4},
      {{16, 16, 64, 64, kHalf, 0, 150}, 4}};
  for (const auto& [kind, splits] : kinds) {
    SCOPED_TRACE(fmt::format("{} bits, {} x {}, groups of {}, {} rows, {} splits", kind.bits,
                             kind.out, kind.in, kind.group, kind.rows, splits));
    const EmulationReport report = check_product(kind, splits);
    // Codes and inputs come to shared memory, and are read from it, without conflicts.
    EXPECT_EQ(report.writes[4].conflicts(), 0);
    EXPECT_EQ(report.reads[4].conflicts(), 0);
    EXPECT_EQ(report.writes[3].conflicts(), 0);
    EXPECT_EQ(report.reads[3].conflicts(), 0);
    EXPECT_GT(report.reads[kind.bits == 16 ? 3 : 4].accesses, 0);
  }
}

/// However many blocks share the inputs; twice, as counters are to be as they were.
TEST(CheckedKernels, SplitsChangeNoBits) {
  for (const Product& kind : {Product{4, 144, 576, 64, GpuScaling::kHalfOffsets, 0, 9},
                              Product{8, 19, 304, 304, GpuScaling::kHalf, 0, 24},
                              Product{16, 144, 584, 584, GpuScaling::kHalf, 0, 9},
                              Product{4, 144, 512, 32, GpuScaling::kSixBits, 0, 9},
                              Product{5, 144, 608, 32, GpuScaling::kHalf, 0, 9},
                              Product{5, 40, 608, 32, GpuScaling::kHalfOffsets, 0, 24},
                              Product{4, 144, 608, 32, GpuScaling::kExponents, 1, 9},
                              Product{6, 40, 1024, 16, GpuScaling::kEightBits, 0, 24}}) {
    ProductMemory memory(kind);
    memory.product.is_wide = true;
    memory.product.num_splits = 1;
    emulated_kernels(kInOrder).group_product(memory.product, nullptr);
    const std::vector<uint32_t> expected = memory.result(kind);
    for (const int splits : {4, 8, 8}) {
      memory.product.num_splits = splits;
      std::fill_n(memory.y().data(), 2 * ProductMemory::num_outputs(kind), uint16_t{0});
      emulated_kernels(EmulatedSchedule(uint64_t{7}, 5)).group_product(memory.product, nullptr);
      EXPECT_EQ(memory.result(kind), expected) << kind.bits << " bits, " << splits << " splits";
    }
  }
}

TEST(CheckedKernels, HeadsAndAttention) {
  for (const GpuType type : {GpuType::kFloat32, GpuType::kBfloat16}) {
    const bool is_wide = type == GpuType::kFloat32;
    Numbers numbers(3);
    const Keys keys(is_wide, numbers);
    constexpr size_t kAll = AttentionMemory::kAll;
    Buffer<float> rows = numbers.floats(kAll), weight = numbers.floats(Keys::kWidth);
    Buffer<float> angles = numbers.floats(kAll), queries(kAll);
    const auto place_heads = [&](const GpuKernels& kernels) {
      kernels.place_heads(type,
                          {.q = rows.data(),
                           .k = rows.data(),
                           .v = rows.data(),
                           .q_stride = Keys::kWidth,
                           .k_stride = Keys::kWidth,
                           .v_stride = Keys::kWidth,
                           .q_weight = weight.data(),
                           .k_weight = weight.data(),
                           .norm = is_wide ? GpuHeadNorm::kHead : GpuHeadNorm::kWidth,
                           .eps = 1e-3f,
                           .offset = 1.0f,
                           .tokens = keys.tokens.data(),
                           .caches = keys.caches.data(),
                           .cache_stride = 1,
                           .cosines = angles.data(),
                           .sines = angles.data(),
                           .num_tokens = Keys::kTokens,
                           .num_heads = Keys::kHeads,
                           .num_key_heads = Keys::kKeyHeads,
                           .head_dim = Keys::kHeadDim,
                           .queries = queries.data()},
                          nullptr);
    };
    EXPECT_EQ(check(place_heads, queries, kAll).num_unwritten, 0);
    for (const int tile : {1, 4}) {
      AttentionMemory memory(is_wide, tile);
      const auto attend = [&](const GpuKernels& kernels) {
        kernels.attend(type, memory.attention, nullptr);
      };
      EXPECT_EQ(check(attend, memory.x(), is_wide ? kAll : kAll / 2).num_unwritten, 0);
    }
  }
}

TEST(CheckedKernels, Adapters) {
  Numbers numbers(4);
  const Keys keys(true, numbers);
  constexpr int64_t kIn = 300, kOut = 270, kStride = 280, kRank = 5, kTokens = Keys::kTokens;
  Buffer<float> x = numbers.floats(kTokens * kIn), a = numbers.floats(kRank * kIn);
  Buffer<float> b = numbers.floats(kOut * kRank), base = numbers.floats(kTokens * kStride);
  Buffer<float> narrow(kTokens * kRank), y(kTokens * kOut);
  const auto adapt = [&](const GpuKernels& kernels) {
    kernels.adapt(GpuType::kFloat32,
                  {.x = x.data(),
                   .a = a.data(),
                   .b = b.data(),
                   .tokens = keys.tokens.data(),
                   .base = base.data(),
                   .base_stride = kStride,
                   .num_tokens = kTokens,
                   .rank = kRank,
                   .in = kIn,
                   .out = kOut,
                   .scaling = 0.5f,
                   .narrow = narrow.data(),
                   .y = y.data()},
                  nullptr);
  };
  EXPECT_EQ(check(adapt, y, kTokens * kOut).num_unwritten, 0);
  for (const int64_t token : {0, 1}) {
    for (const int64_t output : {0, 256, 269}) {
      double sum = 0.0;
      for (int64_t r = 0; r < kRank && token == 1; ++r) {
        double share = 0.0;
        for (int64_t i = 0; i < kIn; ++i) {
          share += double{x.data()[token * kIn + i]} * double{a.data()[r * kIn + i]};
        }
        sum += 0.5 * share * double{b.data()[output * kRank + r]};
      }
      EXPECT_NEAR(y.data()[token * kOut + output],
                  sum + double{base.data()[token * kStride + output]}, 1e-5);
    }
  }
}

TEST(CheckedKernels, PathsOfTrees) {
  for (const GpuType type : {GpuType::kFloat32, GpuType::kBfloat16}) {
    Numbers numbers(9);
    Keys keys(type == GpuType::kFloat32, numbers);
    constexpr size_t kAll = 4 * Keys::kValues;
    const std::vector<float> before(keys.values.data(), keys.values.data() + kAll);
    const auto keep = [&](const GpuKernels& kernels) {
      std::ranges::copy(before, keys.values.data());
      GpuKeptPath path{.caches = {keys.caches[0], keys.caches[1]},
                       .from = {1, 4, 5},
                       .num_layers = 2,
                       .count = 3,
                       .begin = 70,
                       .num_key_heads = Keys::kKeyHeads,
                       .head_dim = Keys::kHeadDim};
      kernels.keep_path(type, path, nullptr);
    };
    EXPECT_EQ(check(keep, keys.values, kAll).num_unwritten, 0);
  }
}

TEST(CheckedKernels, EmbeddingsNormsAndGates) {
  Numbers numbers(5);
  constexpr size_t kWidth = 1100, kTokens = 3;
  Buffer<float> table = numbers.floats(4 * kWidth), out = numbers.floats(kTokens * kWidth);
  Buffer<float> weight = numbers.floats(kWidth), hidden = numbers.floats(kTokens * kWidth);
  const Keys keys(true, numbers);
  Buffer<float> x(kTokens * kWidth), cosines(kTokens * 12), sines(kTokens * 12);
  check(
      [&](const GpuKernels& kernels) {
        kernels.embed(GpuType::kFloat32,
                      {.table = table.data(),
                       .tokens = keys.tokens.data(),
                       .frequencies = weight.data(),
                       .factors = {1.0f, 1.0f},
                       .scale = 2.0f,
                       .num_tokens = kTokens,
                       .width = kWidth,
                       .head_dim = 24,
                       .num_ropes = 1,
                       .hidden = x.data(),
                       .cosines = cosines.data(),
                       .sines = sines.data()},
                      nullptr);
      },
      x, kTokens * kWidth);
  Buffer<float> before(kTokens * kWidth);
  std::copy_n(hidden.data(), kTokens * kWidth, before.data());
  check(
      [&](const GpuKernels& kernels) {
        std::copy_n(before.data(), kTokens * kWidth, hidden.data());
        kernels.norm(GpuType::kFloat32,
                     {.hidden = hidden.data(),
                      .out = out.data(),
                      .after = weight.data(),
                      .before = weight.data(),
                      .rows = nullptr,
                      .num_rows = kTokens,
                      .width = kWidth,
                      .eps = 1e-5f,
                      .offset = 0.0f,
                      .x = x.data()},
                     nullptr);
      },
      x, kTokens * kWidth);
  check(
      [&](const GpuKernels& kernels) {
        kernels.gate(GpuType::kFloat32,
                     {.gate = out.data(),
                      .up = table.data(),
                      .gate_stride = kWidth,
                      .up_stride = kWidth,
                      .num_tokens = kTokens,
                      .width = kWidth,
                      .is_gelu = true,
                      .x = x.data()},
                     nullptr);
      },
      x, kTokens * kWidth);
}

/// A sum that blocks share, as several of them run; what a launch after another one gives.
struct Planted {
  EmulationReport report;
  std::vector<float> sums;
};
Planted run_planted(KernelFault fault, uint64_t seed) {
  Numbers numbers(11);
  Buffer<float> x = numbers.floats(kPlantedInputs);
  int counter = 0;
  Planted planted;
  const EmulationChecks checks(seed);
  for (int launch = 0; launch < 2; ++launch) {
    planted.sums.push_back(planted_sum(fault, {x.data(), kPlantedInputs}, &counter,
                                       EmulatedSchedule(seed + static_cast<uint64_t>(launch), 4)));
  }
  planted.report = checks.report();
  return planted;
}

TEST(EmulationChecks, FindNothingInASoundKernel) {
  const Planted first = run_planted(KernelFault::kNone, 1);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Planted planted = run_planted(KernelFault::kNone, seed);
    EXPECT_EQ(text_of(planted.report), "");
    EXPECT_EQ(planted.report.num_unwritten, 0);
    EXPECT_EQ(planted.sums, first.sums);
    EXPECT_EQ(planted.report.reads[4].conflicts(), 0);
    EXPECT_EQ(planted.report.writes[2].conflicts(), 0);
  }
  EXPECT_EQ(first.sums[0], first.sums[1]);
  EXPECT_NE(first.sums[0], 0.0f);
}

TEST(EmulationChecks, SeeEachFaultInEveryInterleaving) {
  const std::pair<KernelFault, const char*> faults[] = {
      {KernelFault::kNoFenceBefore, "without an order"},
      {KernelFault::kNoFenceBehind, "without an order"},
      {KernelFault::kNoBarrier, "without an order"},
      {KernelFault::kEarlyCopies, "a copy is still bringing"},
      {KernelFault::kUnaligned, "not aligned"}};
  for (const auto& [fault, words] : faults) {
    for (uint64_t seed = 1; seed < 4; ++seed) {
      EXPECT_NE(text_of(run_planted(fault, seed).report).find(words), std::string::npos)
          << words << " by seed " << seed;
    }
  }
  EXPECT_GT(run_planted(KernelFault::kUnwritten, 1).report.num_unwritten, 0);
}

/// A product with a fault, whose inputs four blocks share.
class PlantedRun {
 public:
  explicit PlantedRun(uint64_t seed, const Product& kind = kGroups)
      : seed_(seed), kind_(kind), memory_(kind), checks_(seed) {
    memory_.product.is_wide = true;
    memory_.product.num_splits = 4;
  }
  template <ProductFault kFault>
  std::vector<uint32_t> result() {
    std::fill_n(memory_.y().data(), 2 * ProductMemory::num_outputs(kind_), uint16_t{0});
    planted_product<kFault>(memory_.product, EmulatedSchedule(seed_, 4));
    return memory_.result(kind_);
  }
  EmulationReport report() const { return checks_.report(); }

 private:
  static constexpr Product kGroups{4, 16, 512, 64, GpuScaling::kHalfOffsets, 0, 9};

  const uint64_t seed_;
  const Product kind_;
  ProductMemory memory_;
  const EmulationChecks checks_;
};
template <ProductFault kFault>
std::string problems_with(uint64_t seed) {
  PlantedRun run(seed);
  run.result<kFault>();
  return text_of(run.report());
}

TEST(EmulationChecks, SeeFaultsOfTheProductOfManyRows) {
  constexpr auto kUnordered = "without an order";
  for (const uint64_t seed : {1, 2}) {
    EXPECT_THAT(problems_with<ProductFault::kNoFenceBefore>(seed), testing::HasSubstr(kUnordered));
    EXPECT_THAT(problems_with<ProductFault::kNoFenceBehind>(seed), testing::HasSubstr(kUnordered));
  }
  EXPECT_THAT(problems_with<ProductFault::kNoBarrier>(1), testing::HasSubstr(kUnordered));
  EXPECT_THAT(problems_with<ProductFault::kOneTotal>(1), testing::HasSubstr(kUnordered));
  EXPECT_THAT(problems_with<ProductFault::kEarlyTotals>(1),
              testing::HasSubstr("a copy is still bringing"));
  PlantedRun conflicts(1);
  conflicts.result<ProductFault::kConflicts>();
  EXPECT_GT(conflicts.report().reads[3].conflicts(), 0);
}

TEST(EmulationChecks, ResultsShowFaultsOfTheProductOfManyRows) {
  {
    PlantedRun run(1);
    const std::vector<uint32_t> once = run.result<ProductFault::kNoReset>();
    EXPECT_NE(run.result<ProductFault::kNoReset>(), once);  // nobody was the last one
  }
  std::set<std::vector<uint32_t>> found;
  for (uint64_t seed = 1; seed < 4; ++seed) {
    found.insert(PlantedRun(seed).result<ProductFault::kOrderOfArrival>());
  }
  EXPECT_GT(found.size(), 1);
}

/// Attention with a fault, as several blocks run; what a launch after another one gives.
template <ProductFault kFault>
std::pair<std::string, bool> planted_attention(uint64_t seed) {
  const EmulationChecks checks(seed);
  AttentionMemory memory(true, 4);
  std::vector<float> before;
  bool is_same = true;
  for (const uint64_t launch : {0, 1}) {
    std::fill_n(memory.x().data(), AttentionMemory::kAll, 0.0f);
    planted_attend<kFault>(memory.attention, EmulatedSchedule(seed + launch, 4));
    const std::vector<float> found(memory.x().data(), memory.x().data() + AttentionMemory::kAll);
    is_same = launch == 0 || found == before;
    before = found;
  }
  return {text_of(checks.report()), is_same};
}

TEST(EmulationChecks, SeeFaultsOfAttention) {
  using enum ProductFault;
  constexpr auto kUnordered = "without an order";
  for (const uint64_t seed : {1, 2}) {
    // A fault of products.
    EXPECT_EQ(planted_attention<kConflicts>(seed), std::pair(std::string(), true));
    EXPECT_THAT(planted_attention<kNoFenceBefore>(seed).first, testing::HasSubstr(kUnordered));
    EXPECT_THAT(planted_attention<kNoFenceBehind>(seed).first, testing::HasSubstr(kUnordered));
    EXPECT_THAT(planted_attention<kEarlyMerge>(seed).first, testing::HasSubstr(kUnordered));
  }
  EXPECT_FALSE(planted_attention<kNoReset>(1).second);  // nobody was the last one
}

TEST(EmulationChecks, ResultsShowScalesOfOtherGroupsAndBlocks) {
  constexpr Product kBlocks{4, 16, 512, 32, GpuScaling::kSixBits, 0, 9};
  const auto right = PlantedRun(1, kBlocks).result<ProductFault::kConflicts>();  // slow, but right
  EXPECT_EQ((PlantedRun(2, kBlocks).result<ProductFault::kConflicts>()), right);
  EXPECT_NE((PlantedRun(1, kBlocks).result<ProductFault::kOtherFactor>()), right);
  EXPECT_NE((PlantedRun(1, kBlocks).result<ProductFault::kOtherBlock>()), right);
}

TEST(EmulationChecks, ResultsShowCodesOfFiveBitsAndExponentsThatAreOthers) {
  constexpr Product kFive{5, 16, 512, 32, GpuScaling::kHalf, 0, 9},
      kOffsets{5, 16, 512, 32, GpuScaling::kHalfOffsets, 0, 9},
      kExponents{4, 16, 512, 32, GpuScaling::kExponents, 1, 9};
  for (const Product& kind : {kFive, kOffsets, kExponents}) {
    const auto right = PlantedRun(1, kind).result<ProductFault::kConflicts>();
    EXPECT_EQ((PlantedRun(2, kind).result<ProductFault::kConflicts>()), right);
    const bool has_five = kind.bits == 5;
    EXPECT_EQ((PlantedRun(1, kind).result<ProductFault::kNoFifthBit>()) != right, has_five);
    EXPECT_EQ((PlantedRun(1, kind).result<ProductFault::kNoCentre>()) != right,
              kind.scaling == GpuScaling::kHalf);
    EXPECT_EQ((PlantedRun(1, kind).result<ProductFault::kOtherExponent>()) != right, !has_five);
  }
}

TEST(EmulationChecks, RefuseWritesBeyondTheMemoryThatWasAskedFor) {
  EXPECT_ANY_THROW(run_planted(KernelFault::kTooMuchMemory, 1));
}

TEST(EmulationChecks, SeeConflictsOfBanks) {
  const EmulationReport report = run_planted(KernelFault::kConflicts, 1).report;
  EXPECT_EQ(report.writes[2].wavefronts, 8 * report.writes[2].least);
}

TEST(EmulationChecks, ResultsShowACounterThatIsNotReset) {
  const Planted planted = run_planted(KernelFault::kNoReset, 1);
  EXPECT_NE(planted.sums[0], planted.sums[1]);  // nobody was the last one
}

TEST(EmulationChecks, InterleavingsShowAnOrderOfArrival) {
  const auto sums = [] {
    std::vector<float> found;
    for (uint64_t seed = 1; seed < 30; ++seed) {
      found.push_back(run_planted(KernelFault::kOrderOfArrival, seed).sums.front());
    }
    return found;
  }();
  EXPECT_NE(*std::ranges::min_element(sums), *std::ranges::max_element(sums));
}

}  // namespace
}  // namespace predgen
