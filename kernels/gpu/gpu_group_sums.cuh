// What all products have in common: how a chunk of inputs is multiplied, and in which order sums
// are added. A product's bits do not depend on which kernel computes it.
//
// Part p of the inputs are the chunks p, p + 8, .. Each part is summed in order; two neighbouring
// parts are added first, then the four pairs one after the other.
#pragma once

#include "kernels/gpu/gpu_group_chunks.cuh"

namespace predgen {
namespace {

constexpr int kParts = kProductWarps;

/// Sums of inputs for two rows: those of a lane in a tensor core's product.
struct alignas(8) RowTotals {
  float first, second;
};

/// Steps whose sum is scaled together: groups are at least two steps unless they are cut.
template <bool kCut>
constexpr int kScaledSteps = kCut ? 1 : 2;

/// Sums some steps of a tile's inputs.
template <int kNumSteps>
__device__ RowTotals sum_inputs(const uint32_t inputs[kNumSteps][2]) {
  constexpr uint32_t kOnes = 0x3F803F80;  // twice in bfloat16
  constexpr uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
  float sums[4];
#pragma unroll
  for (int i = 0; i < kNumSteps; ++i) {
    i == 0 ? multiply_new_tile(sums, ones, inputs[i]) : multiply_tile(sums, ones, inputs[i]);
  }
  return {sums[0], sums[1]};
}

/// Adds a chunk of inputs to the sums of some panels for some tiles of rows. `panels`: codes and
/// scales of each. load_inputs(tile, step, inputs): what a tensor core takes of a tile's inputs;
/// load_totals(tile, i, inputs): what sum_inputs() gives for the i-th kScaledSteps steps.
template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes, int kPanels, int kTiles,
          class LoadInputs, class LoadTotals>
__device__ void multiply_chunk(const GpuCodeBook& book, const char* panels, int shift,
                               const Lane& lane, const LoadInputs& load_inputs,
                               const LoadTotals& load_totals, float sums[kPanels][kTiles][4]) {
  constexpr int kNumSteps = kBits == 16 ? kSteps<kBits> : kScaledSteps<kCut>;
  constexpr bool kOffsets = kHasOffsets<kScaling>;
#pragma unroll
  for (int first = 0; first < kSteps<kBits>; first += kNumSteps) {
    uint32_t weights[kPanels][kNumSteps][4], fractions[kPanels][kNumSteps][4];
    Scale scales[kPanels], offsets[kPanels];
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const char* const from = panels + panel * kPanelBytes<kBits, kCut, kScaling>;
      if constexpr (kBits == 16) {
#pragma unroll
        for (int i = 0; i < kNumSteps; ++i) load_weights(from, first + i, lane, weights[panel][i]);
      } else {
        uint32_t codes[4 + kHighBits<kBits>];
        load_codes<kBits>(from, lane.index, codes);
#pragma unroll
        for (int i = 0; i < kNumSteps; ++i) {
          load_step<kBits, kScaling, kBookBytes>(codes, book, first + i, weights[panel][i]);
          if constexpr (kBookBytes == 2) {
            load_fractions(codes, book, first + i, fractions[panel][i]);
          }
        }
        const auto* numbers = reinterpret_cast<const uint32_t*>(from + kCodeBytes<kBits>);
        ScaleAndOffset both;
        if constexpr (kHasBlocks<kScaling>) {
          both =
              load_block_scale<kScaling>(numbers, numbers + BlockLayout<kScaling>::kUnitBytes / 4,
                                         first / kNumSteps, lane.output);
        } else {
          both = load_group_scale<kScaling>(numbers, first * kStepInputs >> shift, lane.output);
          if (kBookBytes == 2) both.scale.multiply(book.unit);
        }
        scales[panel] = both.scale;
        offsets[panel] = both.offset;
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      uint32_t inputs[kNumSteps][2];
#pragma unroll
      for (int i = 0; i < kNumSteps; ++i) load_inputs(tile, first + i, inputs[i]);
      RowTotals totals;
      if constexpr (kOffsets) totals = load_totals(tile, first / kNumSteps, inputs);
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        float values[4];
#pragma unroll
        for (int i = 0; i < kNumSteps; ++i) {
          i == 0 ? multiply_new_tile(values, weights[panel][i], inputs[i])
                 : multiply_tile(values, weights[panel][i], inputs[i]);
          if constexpr (kBookBytes == 2) multiply_tile(values, fractions[panel][i], inputs[i]);
        }
        if constexpr (kBits == 16) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[panel][tile][i] += values[i];
        } else {
          add_scaled(sums[panel][tile], scales[panel], values);
        }
        if constexpr (kOffsets) {
          const float of_rows[4] = {totals.first, totals.second, totals.first, totals.second};
          add_scaled(sums[panel][tile], offsets[panel], of_rows);
        }
      }
    }
  }
}

__device__ inline float sum_of_pairs(const float pairs[kParts / 2]) {
  return ((pairs[0] + pairs[1]) + pairs[2]) + pairs[3];
}

/// The sums of consecutive parts, which come one after the other: of all, of a pair, or of one.
template <int kValues>
struct PartSums {
  float even[kValues], total[kValues];

  /// `index`: of the part, from the first one that comes.
  __device__ void add(int index, const float sums[kValues]) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      if (index % 2 == 0) {
        even[i] = sums[i];
      } else {
        const float pair = even[i] + sums[i];
        total[i] = index == 1 ? pair : total[i] + pair;
      }
    }
  }
};

/// Adds the bias, and writes what the product gives.
__device__ inline void store_sum(const GpuGroupProduct& a, int64_t row, int64_t column, float sum) {
  if (a.bias != nullptr) sum += widen(static_cast<const Bfloat16*>(a.bias)[column]);
  const int64_t to = row * a.out + column;
  if (a.is_wide) {
    static_cast<float*>(a.y)[to] = sum;
  } else {
    static_cast<Bfloat16*>(a.y)[to] = narrow<Bfloat16>(sum);
  }
}

}  // namespace
}  // namespace predgen
