// Feeds weights to tensor cores: loads codes and scales, or bfloat16, with the inputs that they are
// multiplied by, into shared memory, and converts codes to bfloat16.
#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr int kProductWarps = 8;  // of a block
constexpr int kProductThreads = kProductWarps * kLanes;
constexpr int kPanelOutputs = 16, kTileRows = 8, kStepInputs = 16;  // of a tensor core's product
constexpr int kMostProductMemory = 99 << 10;                        // bytes of a block, on all GPUs

template <GpuScaling kScaling>
constexpr bool kHasOffsets = has_gpu_offsets(kScaling);
template <GpuScaling kScaling>
constexpr bool kHasBlocks = is_of_gpu_blocks(kScaling);

/// Sizes of a chunk in kBits bits: steps of 16 inputs, inputs, bytes of a row.
template <int kBits>
constexpr int kSteps = kBits == 8 ? 2 : 4;
template <int kBits>
constexpr int kChunkInputs = kSteps<kBits>* kStepInputs;
template <int kBits>
constexpr int kRowBytes = 2 * kChunkInputs<kBits>;
/// Codes of 5 and 6 bits are in two planes: four bits in 16 bytes of each lane, then the others.
template <int kBits>
constexpr int kHighBits = kBits == 5 || kBits == 6 ? kBits - 4 : 0;
constexpr int kLowBytes = kLanes * 16;  // of a panel's chunk
template <int kBits>
constexpr int kCodeBytes = kLowBytes + kHighBits<kBits>* kLanes * 4;

/// The scales of a panel's block of inputs: its float16 numbers, and small factors of each chunk.
template <GpuScaling kScaling>
struct BlockLayout {
  static constexpr bool kSixBits = kScaling == GpuScaling::kSixBits;
  static constexpr int kChunks = 4;
  static constexpr int kUnitBytes = (kSixBits ? 2 : 1) * kPanelOutputs * 2;
  static constexpr int kFactorBytes = kSixBits ? 48 : 64;
  static constexpr int kBytes = kUnitBytes + kChunks * kFactorBytes;
  static constexpr int kChunkBytes = kUnitBytes + kFactorBytes;  // that a chunk needs
  static_assert(kChunks * kChunkInputs<4> == kGpuBlockInputs);
};

/// A group's scales, and perhaps offsets, of a panel that is not of blocks.
template <GpuScaling kScaling>
constexpr int kGroupBytes = kScaling == GpuScaling::kExponents
                                ? kPanelOutputs
                                : (kHasOffsets<kScaling> ? 2 : 1) * kPanelOutputs * 2;

/// Of a panel's codes and scales: those of each step or, where groups are not cut (kCut), of every
/// other one at most. Of bfloat16, rows.
template <int kBits, bool kCut, GpuScaling kScaling>
constexpr int kPanelBytes = [] {
  if (kBits == 16) return kPanelOutputs * kRowBytes<kBits>;
  if (kHasBlocks<kScaling>) return kCodeBytes<kBits> + BlockLayout<kScaling>::kChunkBytes;
  const int groups = kSteps<kBits> / (kCut ? 1 : 2);
  return kCodeBytes<kBits> + groups * kGroupBytes<kScaling>;
}();

/// A lane's position in a tensor core's product.
struct Lane {
  int index;
  int output, pair;  // output and output + 8; inputs 4 * pair .. of a step; rows 2 * pair, + 1
  __device__ explicit Lane(int lane) : index(lane), output(lane / 4), pair(lane % 4) {}
};

/// An input's index shifted right by this is its group.
__device__ inline int group_shift(const GpuGroupProduct& a) {
  return a.group == a.in ? 31 : 31 - __clz(a.group);
}

/// Two values in bfloat16 from two codes in the low bits of both halves: code - 2^(bits - 1).
template <int kBits>
__device__ uint32_t centred_pair(uint32_t codes) {
  // 128 + the low bits of the code; the subtraction is exact, too.
  constexpr uint32_t k128 = 0x43004300, kMinus136 = 0xC308C308, kMinus256 = 0xC380C380;
  if constexpr (kBits == 4) return add_pairs((codes & 0x000F000F) | k128, kMinus136);
  return add_pairs((codes & 0x007F007F) | k128, (codes & 0x00800080) ^ kMinus256);
}

/// The same of planes: the codes, in 6 bits less 32, in 5 bits that have scales alone less 16.
/// `words`: of a lane, both planes. The codes' four bits are at bit `shift` of words[word].
template <int kBits, GpuScaling kScaling>
__device__ uint32_t pair_of_planes(const uint32_t* words, int word, int shift) {
  constexpr uint32_t k128 = 0x43004300;
  constexpr uint32_t kMinusZero = kBits == 6                      ? 0xC320C320
                                  : kScaling == GpuScaling::kHalf ? 0xC310C310
                                                                  : 0xC300C300;
  uint32_t codes = (words[word] >> shift & 0x000F000F) | k128;
  if constexpr (kBits > 4) {
    constexpr int kSharing = 4 / kHighBits<kBits>;  // low words that share a high one
    constexpr uint32_t kMask = kBits == 6 ? 0x00300030 : 0x00100010;
    const uint32_t high = words[4 + word / kSharing];
    const int down = shift + word % kSharing * kHighBits<kBits> - 4;
    codes |= (down >= 0 ? high >> down : high << -down) & kMask;
  }
  return add_pairs(codes, kMinusZero);
}

/// A lane's codes of a panel's chunk.
template <int kBits>
__device__ void load_codes(const char* codes, int lane, uint32_t words[4 + kHighBits<kBits>]) {
  const auto low = reinterpret_cast<const Vector<uint32_t>*>(codes)[lane];
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = low.values[i];
  const char* const high = codes + kLowBytes + lane * kHighBits<kBits> * 4;
  if constexpr (kHighBits<kBits> == 1) words[4] = *reinterpret_cast<const uint32_t*>(high);
  if constexpr (kHighBits<kBits> == 2) {
    const auto two = *reinterpret_cast<const uint2*>(high);
    words[4] = two.x;
    words[5] = two.y;
  }
}

/// The bytes of a table of 16 for the four codes in the low half of `codes`.
__device__ inline uint32_t look_up(const uint32_t table[4], uint32_t codes) {
  const uint32_t within = codes & 0x7777;
  return byte_perm(byte_perm(table[0], table[1], within), byte_perm(table[2], table[3], within),
                   0x3210 | (codes & 0x8888) >> 1);
}

/// The bytes for codes k of both halves of a word, low in its halves; other bits are anything.
__device__ inline uint32_t looked_up_pair(const uint32_t table[4], uint32_t word, int k) {
  return byte_perm(look_up(table, word), look_up(table, word >> 16),
                   static_cast<uint32_t>(k | (k + 4) << 8));
}

/// Two values in bfloat16 from low bytes that count 1/256: (byte - 128) / 256.
__device__ inline uint32_t centred_fractions(uint32_t bytes) {
  // As in centred_pair(), with 0.5 + the low bits / 256.
  constexpr uint32_t kHalves = 0x3F003F00, kMinusOne = 0xBF80BF80;
  return add_pairs((bytes & 0x007F007F) | kHalves, (bytes & 0x00800080) ^ kMinusOne);
}

/// The weights of a step for one panel: for output, for output + 8, then the later inputs. Of
/// codes of a book without their low bytes.
template <int kBits, GpuScaling kScaling, int kBookBytes>
__device__ void load_step(const uint32_t* words, const GpuCodeBook& book, int step,
                          uint32_t weights[4]) {
  const int word = kBits == 8 ? step * 2 : step / 2 * 2;
  const int shift = kBits == 8 ? 0 : step % 2 * 8;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if constexpr (kHasBlocks<kScaling> || kBits == 5) {
      weights[i] = pair_of_planes<kBits, kScaling>(words, word + i, shift);
      weights[2 + i] = pair_of_planes<kBits, kScaling>(words, word + i, shift + 4);
    } else if constexpr (kBookBytes > 0) {
      weights[i] = centred_pair<8>(looked_up_pair(book.high, words[word + i], step % 2 * 2));
      weights[2 + i] =
          centred_pair<8>(looked_up_pair(book.high, words[word + i], step % 2 * 2 + 1));
    } else {
      weights[i] = centred_pair<kBits>(words[word + i] >> shift);
      weights[2 + i] = centred_pair<kBits>(words[word + i] >> (shift + kBits));
    }
  }
}

/// The low bytes' share of the same weights, in 4 bits.
__device__ inline void load_fractions(const uint32_t* words, const GpuCodeBook& book, int step,
                                      uint32_t weights[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t word = words[step / 2 * 2 + i];
    weights[i] = centred_fractions(looked_up_pair(book.low, word, step % 2 * 2));
    weights[2 + i] = centred_fractions(looked_up_pair(book.low, word, step % 2 * 2 + 1));
  }
}

struct Scale {
  float first, second;  // of a lane's outputs
  __device__ void multiply(float factor) {
    first *= factor;
    second *= factor;
  }
};
__device__ inline Scale load_scale(const uint32_t* scales, int index, int output) {
  const uint32_t bits = scales[index * (kPanelOutputs / 2) + output];
  return {half_value(bits & 0xFFFF), half_value(bits >> 16)};
}

/// Powers of two, exact from 2^-128 on.
__device__ inline Scale load_exponents(const uint32_t* numbers, int group, int output) {
  const uint32_t two =
      reinterpret_cast<const uint16_t*>(numbers)[group * (kPanelOutputs / 2) + output];
  const auto power = [](uint32_t exponent) {
    return fmaxf(0.5f * __uint_as_float(exponent << 23), 0x1p-128f);
  };
  return {power(two & 0xFF), power(two >> 8)};
}

struct ScaleAndOffset {
  Scale scale, offset;
};

/// Of a group that has its own.
template <GpuScaling kScaling>
__device__ ScaleAndOffset load_group_scale(const uint32_t* numbers, int group, int output) {
  if constexpr (kScaling == GpuScaling::kExponents) {
    return {load_exponents(numbers, group, output), {0.0f, 0.0f}};
  } else if constexpr (kHasOffsets<kScaling>) {
    return {load_scale(numbers, group * 2, output), load_scale(numbers, group * 2 + 1, output)};
  } else {
    return {load_scale(numbers, group, output), {0.0f, 0.0f}};
  }
}

/// A byte of a word, less `zero`.
__device__ inline float byte_as_float(uint32_t word, int byte, float zero) {
  constexpr uint32_t k2To23 = 0x4B000000;  // 8388608, to which bits of a float may be added
  return __uint_as_float(byte_perm(word, k2To23, static_cast<uint32_t>(0x7440 | byte))) -
         (8388608.0f + zero);
}

/// Of a chunk's `index`-th group, from the float16 numbers of the block and the chunk's factors.
/// Their products are exact.
template <GpuScaling kScaling>
__device__ ScaleAndOffset load_block_scale(const uint32_t* units, const uint32_t* factors,
                                           int index, int output) {
  const Scale unit = load_scale(units, 0, output);
  if constexpr (kScaling == GpuScaling::kEightBits) {
    const uint32_t two = factors[output * 2 + index / 2];
    const auto factor = [&](int side) { return byte_as_float(two, index % 2 * 2 + side, 128.0f); };
    return {{unit.first * factor(0), unit.second * factor(1)}, {0.0f, 0.0f}};
  } else {
    const uint32_t high = factors[kPanelOutputs / 2 + output / 2] >> output % 2 * 4;
    const uint32_t four =
        (factors[output] >> index * 4 & 0x0F0F0F0F) | (high << (4 - index * 2) & 0x30303030);
    const auto factor = [&](int number) { return byte_as_float(four, number, 0.0f); };
    const Scale offset_unit = load_scale(units, 1, output);
    return {{unit.first * factor(0), unit.second * factor(1)},
            {-(offset_unit.first * factor(2)), -(offset_unit.second * factor(3))}};
  }
}

__device__ inline void add_scaled(float sums[4], const Scale& scale, const float values[4]) {
  sums[0] = fmaf(scale.first, values[0], sums[0]);
  sums[1] = fmaf(scale.first, values[1], sums[1]);
  sums[2] = fmaf(scale.second, values[2], sums[2]);
  sums[3] = fmaf(scale.second, values[3], sums[3]);
}

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
