// Products with weights in 4 or 8 bits whose groups of inputs share a scale: tensor cores multiply
// codes, or the bytes that a book has for them, which bfloat16 represents exactly, and group sums
// are scaled in float32.
//
// A block computes 16 outputs of each of its panels for all rows. Its warps each take every eighth
// chunk of inputs: 16 bytes of codes per lane and panel, scales, and the rows' inputs, all
// prefetched to shared memory. Finally the warps' sums are added in a fixed order. So weights are
// read once for up to 32 rows, and a row's bits do not depend on the others. Needs compute
// capability 8.0.
#pragma once

#include "kernels/gpu/gpu_group_chunks.cuh"

namespace predgen {
namespace {

/// kPanels panels of outputs, kTiles tiles of 8 rows. kCut: a step's sum is scaled by itself, as
/// groups may be one step.
template <int kBits, bool kCut, bool kOffsets, int kPanels, int kTiles, int kStages,
          int kBookBytes = 0>
__global__ void __launch_bounds__(kProductThreads, kTiles < 4 ? 2 : 1)
    group_product_kernel(GpuGroupProduct a) {
  using Chunks = WarpChunks<kBits, kCut, kOffsets, kPanels, kTiles, kStages>;
  constexpr uint32_t kOnes = 0x3F803F80;  // twice in bfloat16
  constexpr int kScales = kOffsets ? 2 : 1;
  char* const memory = dynamic_memory();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes;
  const Lane lane(thread % kLanes);
  Chunks chunks(a, memory, warp, lane);
  const int shift = group_shift(a), num_chunks = chunks.num_chunks();
  const int row_of_tile = lane.output & ((kTiles > 1 ? kTileRows : rows_kept<kTiles>(a.rows)) - 1);
  float sums[kPanels][kTiles][4] = {};
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) chunks.send_to(i);
  int stage = 0, before = kStages - 1;  // of this chunk, and of the one before
  for (int chunk = warp; chunk < num_chunks; chunk += kProductWarps) {
    await_copies<kStages - 2>();
    __syncwarp();  // all lanes' copies are done, and the previous chunk has been read
    chunks.send_to(before);
    const char* const slot = chunks.slot(stage);
    before = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
    const auto load_inputs = [&](int tile, int step, uint32_t inputs[2]) {
      const auto two = *reinterpret_cast<const uint2*>(
          slot + Chunks::kInputsAt + tile * kTileRows * kRowBytes<kBits> +
          place_of_inputs<kBits>(row_of_tile, step * 2 + lane.pair / 2) + lane.pair % 2 * 8);
      inputs[0] = two.x;
      inputs[1] = two.y;
    };
#pragma unroll
    for (int step = 0; step < kSteps<kBits>; step += 2) {
      uint32_t weights[kPanels][2][4], fractions[kBookBytes == 2 ? kPanels : 1][2][4];
      Scale scales[kPanels][2], offsets[kPanels][2];  // of each step, or of both
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const char* const from = slot + panel * Chunks::kPanel;
        const auto codes = reinterpret_cast<const Vector<uint32_t>*>(from)[lane.index];
        load_step<kBits, kBookBytes>(codes.values, a.book, step, weights[panel][0]);
        load_step<kBits, kBookBytes>(codes.values, a.book, step + 1, weights[panel][1]);
        if constexpr (kBookBytes == 2) {
          load_fractions(codes.values, a.book, step, fractions[panel][0]);
          load_fractions(codes.values, a.book, step + 1, fractions[panel][1]);
        }
        const auto* numbers = reinterpret_cast<const uint32_t*>(from + kCodeBytes);
#pragma unroll
        for (int half = 0; half < (kCut ? 2 : 1); ++half) {
          const int group = (step + half) * kStepInputs >> shift;
          scales[panel][half] = load_scale(numbers, group * kScales, lane.output);
          if (kBookBytes == 2) scales[panel][half].multiply(a.book.unit);
          if (kOffsets) offsets[panel][half] = load_scale(numbers, group * 2 + 1, lane.output);
        }
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        uint32_t inputs[2][2];
        load_inputs(tile, step, inputs[0]);
        load_inputs(tile, step + 1, inputs[1]);
        float totals[2][4];  // of the inputs, for offsets
        if (kOffsets) {
          constexpr uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
          multiply_new_tile(totals[0], ones, inputs[0]);
          if (kCut) {
            multiply_new_tile(totals[1], ones, inputs[1]);
          } else {
            multiply_tile(totals[0], ones, inputs[1]);
          }
        }
#pragma unroll
        for (int panel = 0; panel < kPanels; ++panel) {
          float values[4];
          multiply_new_tile(values, weights[panel][0], inputs[0]);
          if constexpr (kBookBytes == 2) multiply_tile(values, fractions[panel][0], inputs[0]);
          if (kCut) {
            add_scaled(sums[panel][tile], scales[panel][0], values);
            multiply_new_tile(values, weights[panel][1], inputs[1]);
            if constexpr (kBookBytes == 2) multiply_tile(values, fractions[panel][1], inputs[1]);
          } else {
            multiply_tile(values, weights[panel][1], inputs[1]);
          }
          add_scaled(sums[panel][tile], scales[panel][kCut ? 1 : 0], values);
          if (kOffsets) {
            add_scaled(sums[panel][tile], offsets[panel][0], totals[0]);
            if (kCut) add_scaled(sums[panel][tile], offsets[panel][1], totals[1]);
          }
        }
      }
    }
  }
  await_copies<0>();
  // Sums of a few panels and tiles, one warp beside the other; then each thread adds up some values
  // of all warps.
  constexpr int kSliceValues = kPanelOutputs * kTileRows, kAll = kPanels * kTiles;
  constexpr int kSlices = kAll < 8 ? kAll : 8;
  static_assert(Chunks::kLeastRingBytes >= kSlices * kSliceValues * 4);
  auto* const parts = reinterpret_cast<float*>(memory);
#pragma unroll
  for (int first = 0; first < kAll; first += kSlices) {
    __syncthreads();  // the ring or the previous slices have been read
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) {
      const int at = first + slice;
#pragma unroll
      for (int value = 0; value < 4; ++value) {
        parts[((warp * kSlices + slice) * 4 + value) * kLanes + lane.index] =
            sums[at / kTiles][at % kTiles][value];
      }
    }
    __syncthreads();
    for (int i = thread; i < kSlices * kSliceValues; i += kProductThreads) {
      const int slice = i / kSliceValues, within = i % kSliceValues;
      const int output = within % kPanelOutputs, token = within / kPanelOutputs;
      const int value = output / 8 * 2 + token % 2, of_lane = output % 8 * 4 + token / 2;
      float sum = 0.0f;
#pragma unroll
      for (int from = 0; from < kProductWarps; ++from) {
        sum += parts[((from * kSlices + slice) * 4 + value) * kLanes + of_lane];
      }
      const int at = first + slice, row = at % kTiles * kTileRows + token;
      const int64_t column =
          (static_cast<int64_t>(blockIdx.x) * kPanels + at / kTiles) * kPanelOutputs + output;
      if (row >= a.rows || column >= a.out) continue;
      if (a.bias != nullptr) sum += widen(static_cast<const Bfloat16*>(a.bias)[column]);
      const int64_t to = row * a.out + column;
      if (a.is_wide) {
        static_cast<float*>(a.y)[to] = sum;
      } else {
        static_cast<Bfloat16*>(a.y)[to] = narrow<Bfloat16>(sum);
      }
    }
  }
}

constexpr int kWidenThreads = 256, kWidenWarps = kWidenThreads / kLanes;

/// One chunk of a panel per warp: writes its weights in bfloat16, [out,in].
template <int kBits, int kBookBytes = 0>
__global__ void __launch_bounds__(kWidenThreads) widen_groups_kernel(GpuGroupProduct a) {
  constexpr int kInputs = kChunkInputs<kBits>;
  const int thread = static_cast<int>(threadIdx.x);
  const Lane lane(thread % kLanes);
  const int shift = group_shift(a);
  const int64_t num_chunks = (a.in + kInputs - 1) / kInputs;
  const int64_t num_groups = a.group == a.in ? 1 : a.in >> shift;
  const int64_t chunk = static_cast<int64_t>(blockIdx.x) * kWidenWarps + thread / kLanes;
  const int64_t panel = blockIdx.y;
  if (chunk >= num_chunks) return;
  const auto codes =
      stream_vector(static_cast<const Vector<uint32_t>*>(static_cast<const void*>(a.words)) +
                    (panel * num_chunks + chunk) * kLanes + thread % kLanes);
  const int num_scales = a.has_offsets ? 2 : 1;
#pragma unroll
  for (int step = 0; step < kSteps<kBits>; ++step) {
    const int64_t input = chunk * kInputs + step * kStepInputs;
    if (input >= a.in) break;
    uint32_t weights[4], fractions[4] = {};
    load_step<kBits, kBookBytes>(codes.values, a.book, step, weights);
    if constexpr (kBookBytes == 2) load_fractions(codes.values, a.book, step, fractions);
    const auto* numbers = static_cast<const uint32_t*>(a.scales) +
                          (panel * num_groups + (input >> shift)) * num_scales * 8;
    Scale scale = load_scale(numbers, 0, lane.output);
    if (kBookBytes == 2) scale.multiply(a.book.unit);
    const Scale offset = a.has_offsets ? load_scale(numbers, 1, lane.output) : Scale{0.0f, 0.0f};
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

template <int kBits, bool kCut, bool kOffsets, int kBookBytes, int kPanels, int kTiles, int kStages>
void launch_group_product(const GpuGroupProduct& a, void* stream) {
  using Chunks = WarpChunks<kBits, kCut, kOffsets, kPanels, kTiles, kStages>;
  constexpr int kWithAllRows = Chunks::kInputsAt + kTiles * kTileRows * kRowBytes<kBits>;
  static_assert(kProductWarps * kStages * kWithAllRows <= 99 << 10, "of a block, on all GPUs");
  const int bytes = kProductWarps * kStages * Chunks::slot_bytes(a.rows);
  const int64_t outputs = kPanels * kPanelOutputs;
  const Grid grid{static_cast<int>((a.out + outputs - 1) / outputs)};
  launch_with_memory(
      group_product_kernel<kBits, kCut, kOffsets, kPanels, kTiles, kStages, kBookBytes>, grid,
      kProductThreads, bytes, stream, a);
}

/// More panels per block read inputs less often; fewer give the GPU enough blocks.
template <int kBits, bool kCut, bool kOffsets, int kBookBytes = 0>
void launch_group_product(const GpuGroupProduct& a, void* stream) {
  constexpr int kWide = kBookBytes == 0 ? 4 : 2;  // looking up takes registers
  const bool is_wide = a.out >= kPanelOutputs * 1024;
  if (a.rows <= 8) {
    is_wide ? launch_group_product<kBits, kCut, kOffsets, kBookBytes, kWide, 1, 2>(a, stream)
            : launch_group_product<kBits, kCut, kOffsets, kBookBytes, 1, 1, 4>(a, stream);
  } else if (a.rows <= 16) {
    is_wide ? launch_group_product<kBits, kCut, kOffsets, kBookBytes, kWide / 2, 2, 3>(a, stream)
            : launch_group_product<kBits, kCut, kOffsets, kBookBytes, 1, 2, 3>(a, stream);
  } else {
    is_wide ? launch_group_product<kBits, kCut, kOffsets, kBookBytes, 2, 4, 2>(a, stream)
            : launch_group_product<kBits, kCut, kOffsets, kBookBytes, 1, 4, 2>(a, stream);
  }
}

template <int kBits>
void launch_group_product(const GpuGroupProduct& a, void* stream) {
  if constexpr (kBits == 4) {
    if (a.book.num_bytes == 1) return launch_group_product<4, true, false, 1>(a, stream);
    if (a.book.num_bytes == 2) return launch_group_product<4, true, false, 2>(a, stream);
  }
  if (a.group == kStepInputs && a.group != a.in) {
    a.has_offsets ? launch_group_product<kBits, true, true>(a, stream)
                  : launch_group_product<kBits, true, false>(a, stream);
  } else {
    a.has_offsets ? launch_group_product<kBits, false, true>(a, stream)
                  : launch_group_product<kBits, false, false>(a, stream);
  }
}

void group_product_launch(const GpuGroupProduct& a, void* stream) {
  for (int64_t first = 0; first < a.rows; first += kRowsOfALaunch) {
    GpuGroupProduct part = a;
    part.x = static_cast<const Bfloat16*>(a.x) + first * a.in;
    part.y = static_cast<char*>(a.y) + first * a.out * (a.is_wide ? 4 : 2);
    part.rows = a.rows - first < kRowsOfALaunch ? a.rows - first : kRowsOfALaunch;
    a.bits == 4 ? launch_group_product<4>(part, stream) : launch_group_product<8>(part, stream);
  }
}

void widen_groups_launch(const GpuGroupProduct& a, void* stream) {
  const int64_t inputs = a.bits == 4 ? kChunkInputs<4> : kChunkInputs<8>;
  const int64_t num_chunks = (a.in + inputs - 1) / inputs;
  const Grid grid{static_cast<int>((num_chunks + kWidenWarps - 1) / kWidenWarps),
                  static_cast<int>((a.out + kPanelOutputs - 1) / kPanelOutputs)};
  const auto kernel = a.book.num_bytes == 1   ? widen_groups_kernel<4, 1>
                      : a.book.num_bytes == 2 ? widen_groups_kernel<4, 2>
                      : a.bits == 4           ? widen_groups_kernel<4>
                                              : widen_groups_kernel<8>;
  launch(kernel, grid, kWidenThreads, stream, a);
}

}  // namespace
}  // namespace predgen
