#include "tensors/gguf_blocks.h"

#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

namespace predgen {
namespace {

constexpr auto kPacked = at::ScalarType::Undefined;
constexpr auto kNone = BlockScales::kNone, kSixBits = BlockScales::kSixBits,
               kEightBits = BlockScales::kEightBits;

// "kvalues" in ggml-common.h.
constexpr CodeValues kIq4{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

constexpr GgufType kGgufTypes[] = {
    {0, "F32", at::kFloat, 1, 4, {}, nullptr},
    {1, "F16", at::kHalf, 1, 2, {}, nullptr},
    {30, "BF16", at::kBFloat16, 1, 2, {}, nullptr},
    {2, "Q4_0", kPacked, 32, 18, {32, -8, 7, false}, unpack_q4_0},
    {3, "Q4_1", kPacked, 32, 20, {32, 0, 15, true}, unpack_q4_1},
    {6, "Q5_0", kPacked, 32, 22, {32, -16, 15, false}, unpack_q5_0},
    {7, "Q5_1", kPacked, 32, 24, {32, 0, 31, true}, unpack_q5_1},
    {8, "Q8_0", kPacked, 32, 34, {32, -128, 127, false}, unpack_q8_0},
    {10, "Q2_K", kPacked, 256, 84, {16, 0, 3, true}, unpack_q2_k},
    {11, "Q3_K", kPacked, 256, 110, {16, -4, 3, false}, unpack_q3_k},
    {12, "Q4_K", kPacked, 256, 144, {32, 0, 15, true, {}, kSixBits}, unpack_q4_k},
    {13, "Q5_K", kPacked, 256, 176, {32, 0, 31, true, {}, kSixBits}, unpack_q5_k},
    {14, "Q6_K", kPacked, 256, 210, {16, -32, 31, false, {}, kEightBits}, unpack_q6_k, 192},
    {20, "IQ4_NL", kPacked, 32, 18, {32, 0, 15, false, kIq4}, unpack_iq4_nl},
    {23, "IQ4_XS", kPacked, 256, 136, {32, 0, 15, false, kIq4}, unpack_iq4_xs},
    {39, "MXFP4", kPacked, 32, 17, {32, 0, 15, false, kDoubledFp4, kNone, true}, unpack_mxfp4},
};

/// By their numbers in ggml.h, including those no longer used in files.
constexpr std::string_view kNames[] = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",    "Q1_0",
    "Q2_0",
};
static_assert(kNames[30] == "BF16" && kNames[42] == "Q2_0");

}  // namespace

std::span<const GgufType> gguf_types() { return kGgufTypes; }

const GgufType* find_gguf_type(uint32_t number) {
  const auto found = std::find_if(std::begin(kGgufTypes), std::end(kGgufTypes),
                                  [&](const GgufType& type) { return type.number == number; });
  return found == std::end(kGgufTypes) ? nullptr : found;
}

std::string_view gguf_type_name(uint32_t number) {
  return number < std::size(kNames) ? kNames[number] : std::string_view();
}

namespace {

constexpr int64_t kSmall = 32;  // values of a block
/// The offset of types without one: adding it changes nothing, not even the sign of a zero.
constexpr float kNoOffset = -0.0f;

uint16_t half_bits(const uint8_t* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

float half(const uint8_t* bytes) { return c10::Half(half_bits(bytes), c10::Half::from_bits()); }

int low(uint8_t byte) { return byte & 15; }
int high(uint8_t byte) { return byte >> 4; }

// Eight bytes at once, none with a carry into the next.
static_assert(std::endian::native == std::endian::little);
constexpr int kEight = 8;
constexpr uint64_t kEach = 0x0101010101010101;

uint64_t eight(const uint8_t* bytes) {
  uint64_t all = 0;
  std::memcpy(&all, bytes, sizeof all);
  return all;
}

/// Codes below 128, less `zero`.
void store_eight(uint64_t codes, uint64_t zero, int8_t* to) {
  const uint64_t less = ((codes | 128 * kEach) - zero * kEach) ^ 128 * kEach;
  std::memcpy(to, &less, sizeof less);
}

/// Bytes hold two values each: the first half of the block in their low, the second in their high
/// bits.
void unpack_nibbles(const uint8_t* __restrict bytes, int num_bytes, uint64_t zero,
                    int8_t* __restrict codes) {
  for (int i = 0; i < num_bytes; i += kEight) {
    const uint64_t both = eight(bytes + i);
    store_eight(both & 15 * kEach, zero, codes + i);
    store_eight(both >> 4 & 15 * kEach, zero, codes + i + num_bytes);
  }
}

/// 16 where a bit is set, by eight bits.
constexpr std::array<uint64_t, 256> kSixteens = [] {
  std::array<uint64_t, 256> all{};
  for (size_t bits = 0; bits < all.size(); ++bits) {
    for (size_t i = 0; i < kEight; ++i) all[bits] |= (bits >> i & 1) << (8 * i + 4);
  }
  return all;
}();

/// The same with a fifth bit each, 32 values.
void unpack_five_bits(const uint8_t* fifth_bits, const uint8_t* __restrict bytes, uint64_t zero,
                      int8_t* __restrict codes) {
  for (int i = 0; i < 2; ++i) {
    const uint64_t both = eight(bytes + kEight * i);
    store_eight((both & 15 * kEach) | kSixteens[fifth_bits[i]], zero, codes + kEight * i);
    store_eight((both >> 4 & 15 * kEach) | kSixteens[fifth_bits[i + 2]], zero,
                codes + kEight * i + 16);
  }
}

/// Q4_K and Q5_K: multiples of the block's scale and offset.
void unpack_group_scales(const uint8_t* block, float* scales, float* offsets) {
  const float scale = half(block), offset = half(block + 2);
  for (int group = 0; group < 8; ++group) {
    const SixBitFactors factors = six_bit_factors(block + 4, group);
    scales[group] = scale * static_cast<float>(factors.scale);
    offsets[group] = -(offset * static_cast<float>(factors.offset));
  }
}

}  // namespace

void combine_codes(const int8_t* __restrict codes, const float* scales, const float* offsets,
                   int64_t num_groups, int64_t group, const float* book, float* __restrict values) {
  for (int64_t i = 0; i < num_groups; ++i, codes += group, values += group) {
    const float scale = scales[i], offset = offsets[i];
    if (book != nullptr) {
      for (int64_t k = 0; k < group; ++k) values[k] = scale * book[codes[k]] + offset;
    } else {
      for (int64_t k = 0; k < group; ++k) values[k] = scale * static_cast<float>(codes[k]) + offset;
    }
  }
}

SixBitFactors six_bit_factors(const uint8_t* bytes, int group) {
  if (group < 4) return {.scale = bytes[group] & 63, .offset = bytes[group + 4] & 63};
  return {.scale = low(bytes[group + 4]) | (bytes[group - 4] >> 6) << 4,
          .offset = high(bytes[group + 4]) | (bytes[group] >> 6) << 4};
}

float half_of_e8m0(uint8_t exponent) { return std::ldexp(1.0f, exponent - 128); }

void unpack_q4_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 18, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = kNoOffset;
    unpack_nibbles(blocks + 2, 16, 8, codes);
  }
}

void unpack_q4_1(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 20, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = half(blocks + 2);
    unpack_nibbles(blocks + 4, 16, 0, codes);
  }
}

void unpack_q5_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 22, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = kNoOffset;
    unpack_five_bits(blocks + 2, blocks + 6, 16, codes);
  }
}

void unpack_q5_1(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 24, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = half(blocks + 2);
    unpack_five_bits(blocks + 4, blocks + 8, 0, codes);
  }
}

void unpack_q8_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 34, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = kNoOffset;
    std::memcpy(codes, blocks + 2, kSmall);
  }
}

void unpack_iq4_nl(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                   float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 18, codes += kSmall) {
    scales[i] = half(blocks);
    offsets[i] = kNoOffset;
    unpack_nibbles(blocks + 2, 16, 0, codes);
  }
}

/// An exponent, 16 bytes of codes.
void unpack_mxfp4(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                  float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 17, codes += kSmall) {
    scales[i] = half_of_e8m0(blocks[0]);
    offsets[i] = kNoOffset;
    unpack_nibbles(blocks + 1, 16, 0, codes);
  }
}

/// Factors of 16 groups in 4 + 4 bits, 64 bytes of 2 bits, scale, offset.
void unpack_q2_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 84, scales += 16, offsets += 16) {
    const float scale = half(blocks + 80), offset = half(blocks + 82);
    for (int group = 0; group < 16; ++group) {
      scales[group] = scale * static_cast<float>(low(blocks[group]));
      offsets[group] = -(offset * static_cast<float>(high(blocks[group])));
    }
    const uint8_t* bits = blocks + 16;
    for (int part = 0; part < 8; ++part, codes += 32) {
      const uint8_t* bytes = bits + part / 4 * 32;
      for (int k = 0; k < 32; k += kEight) {
        store_eight(eight(bytes + k) >> (part % 4 * 2) & 3 * kEach, 0, codes + k);
      }
    }
  }
}

/// 32 bytes of third bits, 64 of 2 bits, factors of 16 groups in 12 bytes, scale. An unset third
/// bit means 4 less.
void unpack_q3_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 110, scales += 16, offsets += 16) {
    const uint8_t *third_bits = blocks, *bits = blocks + 32, *factors = blocks + 96;
    const float scale = half(blocks + 108);
    for (int group = 0; group < 16; ++group) {
      const int four = group < 8 ? low(factors[group]) : high(factors[group - 8]);
      const int two = factors[8 + group % 4] >> (group / 4 * 2) & 3;
      scales[group] = scale * static_cast<float>((four | two << 4) - 32);
      offsets[group] = kNoOffset;
    }
    for (int part = 0; part < 8; ++part, codes += 32) {
      const uint8_t* bytes = bits + part / 4 * 32;
      for (int k = 0; k < 32; k += kEight) {
        const uint64_t two = eight(bytes + k) >> (part % 4 * 2) & 3 * kEach;
        const uint64_t third = eight(third_bits + k) >> part & kEach;
        store_eight(two | third << 2, 4, codes + k);
      }
    }
  }
}

/// Scale, offset, 12 bytes of factors, 128 of 4 bits.
void unpack_q4_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 144, scales += 8, offsets += 8) {
    unpack_group_scales(blocks, scales, offsets);
    for (int part = 0; part < 4; ++part, codes += 64) {
      unpack_nibbles(blocks + 16 + part * 32, 32, 0, codes);
    }
  }
}

/// Scale, offset, 12 bytes of factors, 32 of fifth bits, 128 of 4 bits.
void unpack_q5_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 176, scales += 8, offsets += 8) {
    unpack_group_scales(blocks, scales, offsets);
    const uint8_t *fifth_bits = blocks + 16, *bits = blocks + 48;
    for (int part = 0; part < 8; ++part, codes += 32) {
      const uint8_t* bytes = bits + part / 2 * 32;
      for (int k = 0; k < 32; k += kEight) {
        const uint64_t four = eight(bytes + k) >> (part % 2 * 4) & 15 * kEach;
        const uint64_t fifth = eight(fifth_bits + k) >> part & kEach;
        store_eight(four | fifth << 4, 0, codes + k);
      }
    }
  }
}

/// 128 bytes of 4 bits, 64 of 2 bits, factors of 16 groups, scale.
void unpack_q6_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 210, scales += 16, offsets += 16) {
    const float scale = half(blocks + 208);
    for (int group = 0; group < 16; ++group) {
      scales[group] = scale * static_cast<float>(static_cast<int8_t>(blocks[192 + group]));
      offsets[group] = kNoOffset;
    }
    for (int part = 0; part < 8; ++part, codes += 32) {
      const uint8_t* fours = blocks + part / 4 * 64 + part % 2 * 32;
      const uint8_t* twos = blocks + 128 + part / 4 * 32;
      for (int k = 0; k < 32; k += kEight) {
        const uint64_t four = eight(fours + k) >> (part % 4 / 2 * 4) & 15 * kEach;
        const uint64_t two = eight(twos + k) >> (part % 4 * 2) & 3 * kEach;
        store_eight(four | two << 4, 32, codes + k);
      }
    }
  }
}

/// Scale, 2 bytes of high and 4 of low bits of the factors, 128 of 4 bits.
void unpack_iq4_xs(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                   float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += 136, scales += 8, offsets += 8) {
    const float scale = half(blocks);
    const int high_bits = half_bits(blocks + 2);
    for (int group = 0; group < 8; ++group, codes += 32) {
      const int four = blocks[4 + group / 2] >> (group % 2 * 4) & 15;
      const int two = high_bits >> (2 * group) & 3;
      scales[group] = scale * static_cast<float>((four | two << 4) - 32);
      offsets[group] = kNoOffset;
      unpack_nibbles(blocks + 8 + group * 16, 16, 0, codes);
    }
  }
}

}  // namespace predgen
