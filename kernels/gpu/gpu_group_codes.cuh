// What tensor cores take of weights in few bits that are in shared memory: codes as bfloat16, and
// the scales of their groups.
#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr int kPanelOutputs = 16, kTileRows = 8, kStepInputs = 16;  // of a tensor core's product

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

}  // namespace
}  // namespace predgen
