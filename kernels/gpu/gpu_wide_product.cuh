// Products of up to 72 rows that read the weights once. A block makes 128 outputs, a panel of 16 in
// each of its eight warps, which share the rows' inputs in shared memory. Where that gives a GPU
// too few blocks, four or eight of them share the inputs of a matrix: the last one to arrive adds
// up their sums. Of more rows of bfloat16 each block takes 72. Needs compute capability 8.0.
#pragma once

#include "kernels/gpu/gpu_group_sums.cuh"

namespace predgen {
namespace {

template <int kBits>
constexpr int kWideStages = kBits == 16 ? 3 : 6;

template <int kBits, bool kCut, GpuScaling kScaling, int kTiles>
struct WideMemory {
  static constexpr int kPanel = kPanelBytes<kBits, kCut, kScaling>;
  static constexpr int kInputsAt = kProductWarps * kPanel;
  static constexpr int kRows = kTiles * kTileRows;
  static constexpr int kSlot = kInputsAt + kRows * kRowBytes<kBits>;
  static constexpr int kTotalsAt = kWideStages<kBits> * kSlot;
  /// Sums of inputs that a chunk has for each row.
  static constexpr int kTotals = kHasOffsets<kScaling> ? kSteps<kBits> / kScaledSteps<kCut> : 0;
  static constexpr int kBytes = kTotalsAt + 2 * kTotals * kRows * 4;
};

/// A block's outputs, and its rows. Of bfloat16 there may be more rows than a block takes: blocks
/// of the same outputs are neighbours in a launch, so that weights come from memory once.
template <int kBits, int kMostRows>
struct WidePlace {
  int columns, rows;  // columns: the index of its kGpuWideOutputs outputs
  int64_t first_row;

  __device__ explicit WidePlace(const GpuGroupProduct& a)
      : columns(static_cast<int>(blockIdx.x)), rows(static_cast<int>(a.rows)), first_row(0) {
    if constexpr (kBits == 16) {
      const int num_parts = (rows + kMostRows - 1) / kMostRows, part = columns % num_parts;
      columns /= num_parts;
      first_row = static_cast<int64_t>(part) * kMostRows;
      rows = rows - part * kMostRows < kMostRows ? rows - part * kMostRows : kMostRows;
    }
  }
};

/// The chunks of a block in the order in which it takes them, part by part, on their way through
/// shared memory.
template <int kBits, bool kCut, GpuScaling kScaling, int kTiles>
class WideChunks {
 public:
  using Memory = WideMemory<kBits, kCut, kScaling, kTiles>;
  static constexpr int kInputs = kChunkInputs<kBits>;

  __device__ WideChunks(const GpuGroupProduct& a, const WidePlace<kBits, Memory::kRows>& place,
                        char* memory, int first_part, int num_parts)
      : memory_(memory),
        warp_(static_cast<int>(threadIdx.x) / kLanes),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        in_(static_cast<int>(a.in)),
        rows_(place.rows),
        part_(first_part),
        end_part_(first_part + num_parts),
        next_(first_part) {
    num_chunks_ = (in_ + kInputs - 1) / kInputs;
    shift_ = group_shift(a);
    num_groups_ = a.group == a.in ? 1 : in_ >> shift_;
    const int64_t panel = static_cast<int64_t>(place.columns) * kProductWarps + warp_;
    has_panel_ = panel * kPanelOutputs < a.out;
    const int64_t from = has_panel_ ? panel : 0;
    outputs_left_ = static_cast<int>(a.out - from * kPanelOutputs);
    row_bytes_ = a.in * 2;
    codes_ = static_cast<const char*>(a.words);
    if constexpr (kBits == 16) {
      codes_ += (from * kPanelOutputs + lane_ / kSixteens) * row_bytes_ + lane_ % kSixteens * 16;
    } else {
      codes_ += from * num_chunks_ * kCodeBytes<kBits> + lane_ * 16;
      scales_ = static_cast<const char*>(a.scales) + lane_ * 16;
      if constexpr (kHasBlocks<kScaling>) {
        scales_ += from * (in_ / kGpuBlockInputs * BlockLayout<kScaling>::kBytes);
      } else {
        scales_ += from * num_groups_ * kGroupBytes<kScaling>;
      }
    }
    const int thread = static_cast<int>(threadIdx.x);
    x_ = static_cast<const char*>(a.x) + (place.first_row + thread / kSixteens) * row_bytes_ +
         thread % kSixteens * 16;
    skip_empty_parts();
  }

  __device__ int num_chunks() const { return num_chunks_; }
  __device__ int num_sent() const { return num_sent_; }
  __device__ const char* slot(int stage) const { return memory_ + stage * Memory::kSlot; }
  __device__ const char* panel(int stage) const { return slot(stage) + warp_ * Memory::kPanel; }

  /// Starts copying the next chunk, zero-filling the missing part of a partial one.
  __device__ void send_to(int stage) {
    if (part_ < end_part_) {
      send(memory_ + stage * Memory::kSlot);
      next_ += kParts;
      ++num_sent_;
      skip_empty_parts();
    }
    end_copies();
  }

 private:
  static constexpr int kSixteens = kRowBytes<kBits> / 16;

  __device__ void send(char* slot) const {
    const int input = next_ * kInputs;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / kSixteens, sixteen = thread % kSixteens;
    const bool has_inputs = kHasBlocks<kScaling> || input + sixteen * 8 < in_;
    const int at = has_inputs ? input * 2 : 0;
    if (has_panel_) {
      char* const to = slot + warp_ * Memory::kPanel;
      if constexpr (kBits == 16) {
        copy_weights(to, codes_ + at, outputs_left_, row_bytes_, has_inputs, lane_);
      } else {
        copy_codes<kBits>(to + lane_ * 16, codes_ + static_cast<int64_t>(next_) * kCodeBytes<kBits>,
                          lane_);
        if constexpr (kHasBlocks<kScaling>) {
          if (lane_ * 16 < BlockLayout<kScaling>::kChunkBytes) {
            copy_ahead(to + lane_ * 16 + kCodeBytes<kBits>,
                       scales_ + block_scales_at<kScaling>(next_, lane_), true);
          }
        } else {
          const int group = input >> shift_;
          const int groups = kInputs >> shift_ > 1 ? kInputs >> shift_ : 1;
          const bool has_scales = lane_ * 16 < (num_groups_ - group) * kGroupBytes<kScaling>;
          if (lane_ * 16 < groups * kGroupBytes<kScaling>) {
            copy_ahead(to + lane_ * 16 + kCodeBytes<kBits>,
                       scales_ + (has_scales ? group * kGroupBytes<kScaling> : 0), has_scales);
          }
        }
      }
    }
    // A fixed number of turns: the compiler does not unroll a loop that may end earlier.
    constexpr int kRowsAtOnce = kProductThreads / kSixteens;
    static_assert(kRowsAtOnce % kSameTurn == 0);
    char* const inputs = slot + Memory::kInputsAt + place_of_inputs<kBits>(row, sixteen);
    const char* x = x_ + at;
#pragma unroll
    for (int i = 0; i < Memory::kRows; i += kRowsAtOnce) {
      if (row + i < rows_) copy_ahead(inputs + i * kRowBytes<kBits>, x, has_inputs);
      x += kRowsAtOnce * row_bytes_;
    }
  }
  __device__ void skip_empty_parts() {
    while (part_ < end_part_ && next_ >= num_chunks_) next_ = ++part_;
  }

  char* const memory_;
  const int warp_, lane_, in_, rows_;
  int part_, end_part_, next_;
  int num_sent_ = 0;
  int num_chunks_, shift_, num_groups_, outputs_left_;
  bool has_panel_;
  int64_t row_bytes_;
  const char *codes_, *scales_ = nullptr, *x_;
};

/// Leaves the sums of a thread's values by all blocks that share the inputs in `sums`: true in the
/// last block to arrive, which is the one that goes on.
template <int kValues>
__device__ bool add_splits(const GpuGroupProduct& a, float sums[kValues]) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto place = [&](int split, int value) {
    const int64_t block = static_cast<int64_t>(blockIdx.x) * a.num_splits + split;
    return a.parts + (block * kValues + value) * kProductThreads + thread;
  };
#pragma unroll
  for (int i = 0; i < kValues; ++i) *place(static_cast<int>(blockIdx.y), i) = sums[i];
  if (!is_last_to_arrive(a.counters + blockIdx.x, a.num_splits)) return false;
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    float pairs[kParts / 2];
#pragma unroll
    for (int pair = 0; pair < kParts / 2; ++pair) {
      pairs[pair] =
          a.num_splits == kParts ? *place(2 * pair, i) + *place(2 * pair + 1, i) : *place(pair, i);
    }
    sums[i] = sum_of_pairs(pairs);
  }
  return true;
}

template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes, int kTiles>
__global__ void __launch_bounds__(kProductThreads, 1) wide_product_kernel(GpuGroupProduct a) {
  using Chunks = WideChunks<kBits, kCut, kScaling, kTiles>;
  using Memory = typename Chunks::Memory;
  constexpr int kValues = kTiles * 4, kStages = kWideStages<kBits>;
  constexpr bool kOffsets = kHasOffsets<kScaling>;
  char* const memory = dynamic_memory();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes;
  const Lane lane(thread % kLanes);
  const int shift = group_shift(a);
  const int num_parts = kParts / a.num_splits;
  const int first_part = static_cast<int>(blockIdx.y) * num_parts;
  const WidePlace<kBits, Memory::kRows> place(a);
  Chunks chunks(a, place, memory, first_part, num_parts);
  const int num_chunks = chunks.num_chunks();
  // Sums of inputs, which are the same for all outputs, of a chunk and of the next one.
  auto* const totals = reinterpret_cast<RowTotals*>(memory + Memory::kTotalsAt);
  const auto load_inputs = [&](int stage, int tile, int step, uint32_t inputs[2]) {
    const auto two = *reinterpret_cast<const uint2*>(
        chunks.slot(stage) + Memory::kInputsAt + tile * kTileRows * kRowBytes<kBits> +
        place_of_inputs<kBits>(lane.output, step * 2 + lane.pair / 2) + lane.pair % 2 * 8);
    inputs[0] = two.x;
    inputs[1] = two.y;
  };
  const auto total_of = [&](int chunk, int tile, int index) {
    const int row = tile * kTileRows + 2 * lane.pair;
    return totals + ((chunk % 2 * Memory::kTotals + index) * Memory::kRows + row) / 2;
  };
  // Each warp those of a tile or two.
  const auto write_totals = [&](int chunk, int stage) {
#pragma unroll
    for (int first = 0; first < kTiles; first += kProductWarps) {
      const int tile = first + warp;
      if (tile >= kTiles) break;
#pragma unroll
      for (int index = 0; index < Memory::kTotals; ++index) {
        constexpr int kNumSteps = kScaledSteps<kCut>;
        uint32_t inputs[kNumSteps][2];
#pragma unroll
        for (int i = 0; i < kNumSteps; ++i) {
          load_inputs(stage, tile, index * kNumSteps + i, inputs[i]);
        }
        const RowTotals sums = sum_inputs<kNumSteps>(inputs);
        if (lane.output == 0) *total_of(chunk, tile, index) = sums;
      }
    }
  };

#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) chunks.send_to(i);
  if (kOffsets && chunks.num_sent() > 0) {
    await_copies<kStages - 2>();
    __syncthreads();
    write_totals(0, 0);
  }
  float sums[1][kTiles][4];
  auto* const all_sums = &sums[0][0][0];
  PartSums<kValues> part_sums;
  int taken = 0, stage = 0, before = kStages - 1;
  // The second form takes a register less, without which 72 rows in 6 bits spill.
  const auto has_part = [&](int part) {
    return kOffsets ? part < num_parts : part * a.num_splits < kParts;
  };
  for (int part = 0; has_part(part); ++part) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) all_sums[i] = 0.0f;
    for (int chunk = first_part + part; chunk < num_chunks; chunk += kParts) {
      await_copies<kStages - (kOffsets ? 3 : 2)>();
      __syncthreads();  // this chunk is there, with offsets the next one; the one before was read
      chunks.send_to(before);
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      if (kOffsets && taken + 1 < chunks.num_sent()) write_totals(taken + 1, next_stage);
      multiply_chunk<kBits, kCut, kScaling, kBookBytes, 1, kTiles>(
          a.book, chunks.panel(stage), shift, lane,
          [&](int tile, int step, uint32_t inputs[2]) { load_inputs(stage, tile, step, inputs); },
          [&](int tile, int index, const uint32_t(*)[2]) { return *total_of(taken, tile, index); },
          sums);
      ++taken;
      before = stage;
      stage = next_stage;
    }
    part_sums.add(part, all_sums);
  }
  await_copies<0>();
  if (a.num_splits < kParts) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) all_sums[i] = part_sums.total[i];
  }
  if (a.num_splits > 1 && !add_splits<kValues>(a, all_sums)) return;
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    const int64_t column =
        (static_cast<int64_t>(place.columns) * kProductWarps + warp) * kPanelOutputs +
        i % 4 / 2 * 8 + lane.output;
    const int64_t row = i / 4 * kTileRows + 2 * lane.pair + i % 2;
    if (row < place.rows && column < a.out) {
      store_sum(a, place.first_row + row, column, all_sums[i]);
    }
  }
}

template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes, int kTiles>
void launch_wide_product(const GpuGroupProduct& a, void* stream) {
  using Memory = WideMemory<kBits, kCut, kScaling, kTiles>;
  constexpr int kBytes = Memory::kBytes;
  static_assert(kBytes <= kMostProductMemory, "of a block, on all GPUs");
  const int64_t num_parts = (a.rows + Memory::kRows - 1) / Memory::kRows;
  const Grid grid{static_cast<int>(num_gpu_counters(a.out) * num_parts), a.num_splits};
  launch_with_memory<kBytes>(wide_product_kernel<kBits, kCut, kScaling, kBookBytes, kTiles>, grid,
                             kProductThreads, kBytes, stream, a);
}

/// The most tiles of rows: looking up two bytes takes registers.
template <int kBookBytes>
constexpr int kMostTiles = kBookBytes == 2 ? 5 : kMaxGpuWideRows / kTileRows;

template <int kBits, bool kCut, GpuScaling kScaling, int kBookBytes>
void launch_wide_product(const GpuGroupProduct& a, void* stream) {
  constexpr int kMost = kMostTiles<kBookBytes>;  // also of more rows of bfloat16
  const auto launch = a.rows <= 16   ? launch_wide_product<kBits, kCut, kScaling, kBookBytes, 2>
                      : a.rows <= 24 ? launch_wide_product<kBits, kCut, kScaling, kBookBytes, 3>
                      : a.rows <= 40
                          ? launch_wide_product<kBits, kCut, kScaling, kBookBytes, 5>
                          : launch_wide_product<kBits, kCut, kScaling, kBookBytes, kMost>;
  launch(a, stream);
}

}  // namespace
}  // namespace predgen
