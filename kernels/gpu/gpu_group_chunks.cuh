// Feeds weights to tensor cores: loads codes and scales, or bfloat16, with the inputs that they are
// multiplied by, into shared memory.
#pragma once

#include "kernels/gpu/gpu_group_codes.cuh"

namespace predgen {
namespace {

constexpr int kProductWarps = 8;  // of a block
constexpr int kProductThreads = kProductWarps * kLanes;
constexpr int kMostProductMemory = 99 << 10;  // bytes of a block, on all GPUs

/// Where 16 bytes of a row's inputs are in shared memory: lanes that read a step of several rows
/// access different banks. Rows that are kSameTurn apart are placed alike.
constexpr int kSameTurn = 4;
template <int kBits>
__device__ int place_of_inputs(int row, int sixteen) {
  const int turn = kRowBytes<kBits> == 128 ? row % 4 * 2 : row / 2 % 2 * 2;
  return row * kRowBytes<kBits> + (sixteen ^ turn) * 16;
}

/// Starts copying a chunk of a panel of bfloat16 weights, of which there are so many rows; placed
/// as inputs are. `from`: a lane's 16 bytes of the first rows. What is not there is not read.
__device__ inline void copy_weights(char* to, const char* from, int rows, int64_t row_bytes,
                                    bool has_inputs, int lane) {
  constexpr int kSixteens = kRowBytes<16> / 16, kRowsAtOnce = kLanes / kSixteens;
  const int row = lane / kSixteens;
  to += place_of_inputs<16>(row, lane % kSixteens);
  static_assert(kRowsAtOnce % kSameTurn == 0);
#pragma unroll
  for (int i = 0; i < kPanelOutputs; i += kRowsAtOnce) {
    copy_ahead(to + i * kRowBytes<16>, from, has_inputs && row + i < rows);
    from += kRowsAtOnce * row_bytes;
  }
}

/// What load_step() gives, of bfloat16 weights.
__device__ inline void load_weights(const char* panel, int step, const Lane& lane,
                                    uint32_t weights[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const auto two = *reinterpret_cast<const uint2*>(
        panel + place_of_inputs<16>(lane.output + 8 * i, step * 2 + lane.pair / 2) +
        lane.pair % 2 * 8);
    weights[i] = two.x;
    weights[2 + i] = two.y;
  }
}

/// Starts copying the codes of a panel's chunk, a lane's 16 bytes of each plane.
template <int kBits>
__device__ void copy_codes(char* to, const char* from, int lane) {
  copy_ahead(to, from, true);
  if (lane < kHighBits<kBits> * kLanes / 4) copy_ahead(to + kLowBytes, from + kLowBytes, true);
}

/// Where a lane's 16 bytes of a chunk's scales are, from those of its panel's first block.
template <GpuScaling kScaling>
__device__ int block_scales_at(int chunk, int lane) {
  using Scales = BlockLayout<kScaling>;
  const int of_block = chunk / Scales::kChunks * Scales::kBytes;
  return lane * 16 < Scales::kUnitBytes ? of_block
                                        : of_block + chunk % Scales::kChunks * Scales::kFactorBytes;
}

/// The rows of a tile for whose inputs there is room: no more than are needed, so that a product of
/// one row leaves room for other blocks. A lane's rows beyond are the first ones again.
__host__ __device__ inline int rows_kept(int64_t rows) {
  if (rows > 4) return kTileRows;
  return rows > 2 ? 4 : static_cast<int>(rows);
}

/// The chunks of a warp, and their places in its ring of kStages: codes and scales of each panel,
/// then inputs of up to a tile of rows.
template <int kBits, bool kCut, GpuScaling kScaling, int kPanels, int kStages>
class WarpChunks {
 public:
  static constexpr int kInputs = kChunkInputs<kBits>;
  static constexpr int kPanel = kPanelBytes<kBits, kCut, kScaling>;
  static constexpr int kInputsAt = kPanels * kPanel;
  static __host__ __device__ constexpr int slot_bytes(int rows) {
    return kInputsAt + rows * kRowBytes<kBits>;
  }

  __device__ WarpChunks(const GpuGroupProduct& a, char* ring, int warp, const Lane& lane)
      : slot_bytes_(slot_bytes(rows_kept(a.rows))),
        ring_(ring + warp * kStages * slot_bytes_),
        next_(warp),
        lane_(lane.index),
        in_(static_cast<int>(a.in)),
        rows_(static_cast<int>(a.rows)) {
    num_chunks_ = static_cast<int>((a.in + kInputs - 1) / kInputs);
    shift_ = group_shift(a);
    const int num_groups = a.group == a.in ? 1 : static_cast<int>(a.in >> shift_);
    last_group_ = num_groups - 1;
    scales_a_chunk_ = kHasBlocks<kScaling>    ? BlockLayout<kScaling>::kChunkBytes
                      : kInputs >> shift_ > 1 ? (kInputs >> shift_) * kOfGroup
                                              : kOfGroup;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kPanels;
    const int64_t num_panels = (a.out + kPanelOutputs - 1) / kPanelOutputs;
    panels_left_ = num_panels - first < kPanels ? static_cast<int>(num_panels - first) : kPanels;
    outputs_left_ = static_cast<int>(a.out - first * kPanelOutputs);
    codes_a_panel_ = kBits == 16 ? static_cast<int64_t>(kPanelOutputs) * in_ * 2
                                 : static_cast<int64_t>(num_chunks_) * kCodeBytes<kBits>;
    scales_a_panel_ = kHasBlocks<kScaling> ? a.in / kGpuBlockInputs * BlockLayout<kScaling>::kBytes
                                           : static_cast<int64_t>(num_groups) * kOfGroup;
    row_bytes_ = a.in * 2;
    constexpr int kSixteens = kRowBytes<kBits> / 16;
    const int64_t of_lane = lane_ / kSixteens * row_bytes_ + lane_ % kSixteens * 16;
    codes_ = static_cast<const char*>(a.words) + first * codes_a_panel_;
    if constexpr (kBits == 16) {
      codes_ += of_lane;
    } else {
      codes_ += lane_ * 16;
      scales_ = static_cast<const char*>(a.scales) + first * scales_a_panel_ + lane_ * 16;
    }
    x_ = static_cast<const char*>(a.x) + of_lane;
  }

  __device__ int num_chunks() const { return num_chunks_; }
  __device__ const char* slot(int stage) const { return ring_ + stage * slot_bytes_; }

  /// Starts copying the next chunk, zero-filling the missing part of a partial one.
  __device__ void send_to(int stage) {
    if (next_ < num_chunks_) {
      char* const to = ring_ + stage * slot_bytes_ + lane_ * 16;
      const int input = next_ * kInputs, group = input >> shift_;
      const int bytes = (last_group_ - group + 1) * kOfGroup;
      const bool has_scales = kHasBlocks<kScaling> || lane_ * 16 < bytes;
      const bool wants_scales = lane_ * 16 < scales_a_chunk_;
      const char* codes = codes_ + static_cast<int64_t>(next_) * kCodeBytes<kBits>;
      const char* scales = scales_ + (kHasBlocks<kScaling> ? block_scales_at<kScaling>(next_, lane_)
                                      : has_scales         ? group * kOfGroup
                                                           : 0);
      constexpr int kSixteens = kRowBytes<kBits> / 16, kRowsAtOnce = kLanes / kSixteens;
      const int row = lane_ / kSixteens, sixteen = lane_ % kSixteens;
      const bool has_inputs = kHasBlocks<kScaling> || input + sixteen * 8 < in_;
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        if (panel >= panels_left_) break;
        if constexpr (kBits == 16) {
          copy_weights(ring_ + stage * slot_bytes_ + panel * kPanel,
                       codes_ + panel * codes_a_panel_ + (has_inputs ? input * 2 : 0),
                       outputs_left_ - panel * kPanelOutputs, row_bytes_, has_inputs, lane_);
        } else {
          copy_codes<kBits>(to + panel * kPanel, codes + panel * codes_a_panel_, lane_);
          if (wants_scales) {
            copy_ahead(to + panel * kPanel + kCodeBytes<kBits>, scales + panel * scales_a_panel_,
                       has_scales);
          }
        }
      }
      char* const inputs = ring_ + stage * slot_bytes_ + kInputsAt;
      const char* x = x_ + (has_inputs ? input * 2 : 0);
#pragma unroll
      for (int i = 0; i < kTileRows; i += kRowsAtOnce) {
        if (row + i >= rows_) break;
        copy_ahead(inputs + place_of_inputs<kBits>(row + i, sixteen), x + i * row_bytes_,
                   has_inputs);
      }
    }
    end_copies();
    next_ += kProductWarps;
  }

 private:
  static constexpr int kOfGroup = kGroupBytes<kScaling>;

  const int slot_bytes_;
  char* const ring_;
  int next_;
  const int lane_, in_, rows_;
  int num_chunks_, shift_, last_group_, scales_a_chunk_;
  int panels_left_, outputs_left_;
  int64_t codes_a_panel_, scales_a_panel_, row_bytes_;
  const char *codes_, *scales_ = nullptr, *x_;
};

}  // namespace
}  // namespace predgen
