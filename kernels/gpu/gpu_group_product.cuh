// Products with weights in bfloat16, or in 4 to 8 bits whose groups of inputs share a scale: tensor
// cores multiply codes, or the bytes that a book has for them, which bfloat16 represents exactly,
// and group sums are scaled in float32. A row's bits do not depend on the others.
//
// Of up to 8 rows a block computes 16 outputs of each of its panels. Its warps take one part of the
// inputs each: 16 bytes of codes per lane and panel, or 64 of bfloat16, scales, and the rows'
// inputs, all prefetched to shared memory. Finally the parts' sums are added. More rows are in
// gpu_wide_product.cuh. Needs compute capability 8.0.
#pragma once

#include "kernels/gpu/gpu_wide_product.cuh"

namespace predgen {
namespace {

/// kPanels panels of outputs, a tile of rows. kCut: a step's sum is scaled by itself, as groups may
/// be one step.
template <int kBits, bool kCut, GpuScaling kScaling, int kPanels, int kStages, int kBookBytes>
__global__ void __launch_bounds__(kProductThreads, 2) group_product_kernel(GpuGroupProduct a) {
  using Chunks = WarpChunks<kBits, kCut, kScaling, kPanels, kStages>;
  char* const memory = dynamic_memory();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes;
  const Lane lane(thread % kLanes);
  Chunks chunks(a, memory, warp, lane);
  const int shift = group_shift(a), num_chunks = chunks.num_chunks();
  const int row_of_tile = lane.output & (rows_kept(a.rows) - 1);
  float sums[kPanels][1][4] = {};
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) chunks.send_to(i);
  int stage = 0, before = kStages - 1;  // of this chunk, and of the one before
  for (int chunk = warp; chunk < num_chunks; chunk += kParts) {
    await_copies<kStages - 2>();
    __syncwarp();  // all lanes' copies are done, and the previous chunk has been read
    chunks.send_to(before);
    const char* const slot = chunks.slot(stage);
    before = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
    multiply_chunk<kBits, kCut, kScaling, kBookBytes, kPanels, 1>(
        a.book, slot, shift, lane,
        [&](int, int step, uint32_t inputs[2]) {
          const auto two = *reinterpret_cast<const uint2*>(
              slot + Chunks::kInputsAt +
              place_of_inputs<kBits>(row_of_tile, step * 2 + lane.pair / 2) + lane.pair % 2 * 8);
          inputs[0] = two.x;
          inputs[1] = two.y;
        },
        [](int, int, const uint32_t(*inputs)[2]) { return sum_inputs<kScaledSteps<kCut>>(inputs); },
        sums);
  }
  await_copies<0>();
  // The parts' sums, one warp's beside the other's; then each thread adds up some values.
  constexpr int kPanelValues = kPanelOutputs * kTileRows;
  static_assert(Chunks::slot_bytes(1) * kStages >= kPanels * kPanelValues * 4);
  auto* const parts = reinterpret_cast<float*>(memory);
  __syncthreads();  // the ring has been read
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma unroll
    for (int value = 0; value < 4; ++value) {
      parts[((warp * kPanels + panel) * 4 + value) * kLanes + lane.index] = sums[panel][0][value];
    }
  }
  __syncthreads();
  for (int i = thread; i < kPanels * kPanelValues; i += kProductThreads) {
    const int panel = i / kPanelValues, within = i % kPanelValues;
    const int output = within % kPanelOutputs, row = within / kPanelOutputs;
    const int value = output / 8 * 2 + row % 2, of_lane = output % 8 * 4 + row / 2;
    const int64_t column =
        (static_cast<int64_t>(blockIdx.x) * kPanels + panel) * kPanelOutputs + output;
    if (row >= a.rows || column >= a.out) continue;
    float pairs[kParts / 2];
#pragma unroll
    for (int pair = 0; pair < kParts / 2; ++pair) {
      const auto of_part = [&](int part) {
        return parts[((part * kPanels + panel) * 4 + value) * kLanes + of_lane];
      };
      pairs[pair] = of_part(2 * pair) + of_part(2 * pair + 1);
    }
    store_sum(a, row, column, sum_of_pairs(pairs));
  }
}

constexpr int kWidenThreads = 256, kWidenWarps = kWidenThreads / kLanes;

/// Of the group of an input, in device memory.
template <GpuScaling kScaling, int kBookBytes>
__device__ ScaleAndOffset widened_scale(const GpuGroupProduct& a, int64_t panel, int64_t input,
                                        int output) {
  const auto* numbers = static_cast<const uint32_t*>(a.scales);
  if constexpr (kHasBlocks<kScaling>) {
    using Scales = BlockLayout<kScaling>;
    constexpr int kInputs = kChunkInputs<4>, kGroups = kInputs / (Scales::kSixBits ? 32 : 16);
    numbers += (panel * a.in + input) / kGpuBlockInputs * (Scales::kBytes / 4);
    const auto chunk = static_cast<int>(input / kInputs % Scales::kChunks);
    return load_block_scale<kScaling>(
        numbers, numbers + (Scales::kUnitBytes + chunk * Scales::kFactorBytes) / 4,
        static_cast<int>(input % kInputs * kGroups / kInputs), output);
  } else {
    const int shift = group_shift(a);
    const int64_t num_groups = a.group == a.in ? 1 : a.in >> shift;
    const int64_t group = panel * num_groups + (input >> shift);
    numbers += group * (kGroupBytes<kScaling> / 4);
    ScaleAndOffset both = load_group_scale<kScaling>(numbers, 0, output);
    if (kBookBytes == 2) both.scale.multiply(a.book.unit);
    return both;
  }
}

/// One chunk of a panel per warp: writes its weights in bfloat16, [out,in].
template <int kBits, GpuScaling kScaling, int kBookBytes = 0>
__global__ void __launch_bounds__(kWidenThreads) widen_groups_kernel(GpuGroupProduct a) {
  constexpr int kInputs = kChunkInputs<kBits>;
  const int thread = static_cast<int>(threadIdx.x);
  const Lane lane(thread % kLanes);
  const int64_t num_chunks = (a.in + kInputs - 1) / kInputs;
  const int64_t chunk = static_cast<int64_t>(blockIdx.x) * kWidenWarps + thread / kLanes;
  const int64_t panel = blockIdx.y;
  if (chunk >= num_chunks) return;
  uint32_t codes[4 + kHighBits<kBits>];
  load_codes<kBits>(
      static_cast<const char*>(a.words) + (panel * num_chunks + chunk) * kCodeBytes<kBits>,
      lane.index, codes);
#pragma unroll
  for (int step = 0; step < kSteps<kBits>; ++step) {
    const int64_t input = chunk * kInputs + step * kStepInputs;
    if (input >= a.in) break;
    uint32_t weights[4], fractions[4] = {};
    load_step<kBits, kScaling, kBookBytes>(codes, a.book, step, weights);
    if constexpr (kBookBytes == 2) load_fractions(codes, a.book, step, fractions);
    const auto [scale, offset] = widened_scale<kScaling, kBookBytes>(a, panel, input, lane.output);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t output = panel * kPanelOutputs + half * 8 + lane.output;
      if (output >= a.out) break;
      const float factor = half == 0 ? scale.first : scale.second;
      const float constant = half == 0 ? offset.first : offset.second;
      const auto value = [&](uint32_t bits, uint32_t fraction) {
        const float whole = __uint_as_float(bits) + __uint_as_float(fraction);
        return static_cast<uint32_t>(narrow<Bfloat16>(fmaf(whole, factor, constant)).bits);
      };
      const auto both = [&](uint32_t two, uint32_t fraction) {
        return value(two << 16, fraction << 16) | value(two & 0xFFFF0000, fraction & 0xFFFF0000)
                                                      << 16;
      };
      auto* const to = static_cast<Bfloat16*>(a.y) + output * a.in + input + 4 * lane.pair;
      *reinterpret_cast<uint2*>(to) = {both(weights[half], fractions[half]),
                                       both(weights[2 + half], fractions[2 + half])};
    }
  }
}

template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes, int kPanels, int kStages>
void launch_few_rows(const GpuGroupProduct& a, void* stream) {
  using Chunks = WarpChunks<kBits, kCut, kScaling, kPanels, kStages>;
  constexpr int kMost = kProductWarps * kStages * Chunks::slot_bytes(kTileRows);
  static_assert(kMost <= kMostProductMemory, "of a block, on all GPUs");
  const int bytes = kProductWarps * kStages * Chunks::slot_bytes(rows_kept(a.rows));
  const int64_t outputs = kPanels * kPanelOutputs;
  const Grid grid{static_cast<int>((a.out + outputs - 1) / outputs)};
  launch_with_memory<kMost>(
      group_product_kernel<kBits, kCut, kScaling, kPanels, kStages, kBookBytes>, grid,
      kProductThreads, bytes, stream, a);
}

template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes = 0>
void launch_group_product(const GpuGroupProduct& a, void* stream) {
  static_assert(kTileRows == kMaxGpuNarrowRows);
  if (a.rows > kTileRows) {
    launch_wide_product<kBits, kCut, kScaling, kBookBytes>(a, stream);
  } else if constexpr (kBits == 16) {
    launch_few_rows<kBits, kCut, kScaling, kBookBytes, 1, 2>(a, stream);
  } else {
    // More panels per block read inputs less often; fewer give the GPU enough blocks.
    // Looking up takes registers, and codes of two planes take shared memory.
    constexpr int kMany = kBookBytes == 0 && kHighBits<kBits> == 0 ? 4 : 2;
    a.out >= kPanelOutputs * 1024
        ? launch_few_rows<kBits, kCut, kScaling, kBookBytes, kMany, 2>(a, stream)
        : launch_few_rows<kBits, kCut, kScaling, kBookBytes, 1, 4>(a, stream);
  }
}

template <int kBits>
void launch_group_product(const GpuGroupProduct& a, void* stream) {
  using enum GpuScaling;
  const bool is_cut = a.group == kStepInputs && a.group != a.in;
  if constexpr (kBits == 4) {
    if (a.book.num_bytes == 1) return launch_group_product<4, true, kHalf, 1>(a, stream);
    if (a.book.num_bytes == 2) return launch_group_product<4, true, kHalf, 2>(a, stream);
    if (a.scaling == kHalfOffsets) {
      is_cut ? launch_group_product<4, true, kHalfOffsets>(a, stream)
             : launch_group_product<4, false, kHalfOffsets>(a, stream);
      return;
    }
  }
  is_cut ? launch_group_product<kBits, true, kHalf>(a, stream)
         : launch_group_product<kBits, false, kHalf>(a, stream);
}

void launch_any_bits(const GpuGroupProduct& a, void* stream) {
  using enum GpuScaling;
  if (a.bits == 16) return launch_group_product<16, false, kHalf>(a, stream);
  if (a.bits == 6) return launch_group_product<6, true, kEightBits>(a, stream);
  if (a.bits == 5) {
    const auto launch = a.scaling == kSixBits       ? launch_group_product<5, false, kSixBits>
                        : a.scaling == kHalfOffsets ? launch_group_product<5, false, kHalfOffsets>
                                                    : launch_group_product<5, false, kHalf>;
    return launch(a, stream);
  }
  if (a.scaling == kSixBits) return launch_group_product<4, false, kSixBits>(a, stream);
  if (a.scaling == kExponents) return launch_group_product<4, false, kExponents, 1>(a, stream);
  a.bits == 4 ? launch_group_product<4>(a, stream) : launch_group_product<8>(a, stream);
}

void group_product_launch(const GpuGroupProduct& a, void* stream) {
  const bool is_long = a.bits == 16 && a.rows > kMostGpuRowsApart;
  const int64_t most = is_long                 ? a.rows
                       : a.book.num_bytes == 2 ? kTileRows * kMostTiles<2>
                                               : kMaxGpuWideRows;
  for (int64_t first = 0; first < a.rows; first += most) {
    GpuGroupProduct part = a;
    part.x = static_cast<const Bfloat16*>(a.x) + first * a.in;
    part.y = static_cast<char*>(a.y) + first * a.out * (a.is_wide ? 4 : 2);
    part.rows = a.rows - first < most ? a.rows - first : most;
    if (part.num_splits == 0) part.num_splits = num_gpu_splits(a.out);
    if (is_long) part.num_splits = 1;
    launch_any_bits(part, stream);
  }
}

void widen_groups_launch(const GpuGroupProduct& a, void* stream) {
  const int64_t inputs = a.bits == 8 ? kChunkInputs<8> : kChunkInputs<4>;
  const int64_t num_chunks = (a.in + inputs - 1) / inputs;
  const Grid grid{static_cast<int>((num_chunks + kWidenWarps - 1) / kWidenWarps),
                  static_cast<int>((a.out + kPanelOutputs - 1) / kPanelOutputs)};
  using enum GpuScaling;
  const auto in_five_bits = a.scaling == kSixBits       ? widen_groups_kernel<5, kSixBits>
                            : a.scaling == kHalfOffsets ? widen_groups_kernel<5, kHalfOffsets>
                                                        : widen_groups_kernel<5, kHalf>;
  const auto kernel = a.bits == 6                 ? widen_groups_kernel<6, kEightBits>
                      : a.bits == 5               ? in_five_bits
                      : a.bits == 8               ? widen_groups_kernel<8, kHalf>
                      : a.scaling == kSixBits     ? widen_groups_kernel<4, kSixBits>
                      : a.scaling == kExponents   ? widen_groups_kernel<4, kExponents, 1>
                      : a.book.num_bytes == 1     ? widen_groups_kernel<4, kHalf, 1>
                      : a.book.num_bytes == 2     ? widen_groups_kernel<4, kHalf, 2>
                      : a.scaling == kHalfOffsets ? widen_groups_kernel<4, kHalfOffsets>
                                                  : widen_groups_kernel<4, kHalf>;
  launch(kernel, grid, kWidenThreads, stream, a);
}

}  // namespace
}  // namespace predgen
