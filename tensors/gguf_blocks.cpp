#include "tensors/gguf_blocks.h"

#include <c10/util/Half.h>

#include <cmath>
#include <cstring>

namespace predgen {
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

/// Bytes hold two values each: the first half of the block in their low, the second in their high
/// bits.
void unpack_nibbles(const uint8_t* __restrict bytes, int num_bytes, int zero,
                    int8_t* __restrict codes) {
  for (int i = 0; i < num_bytes; ++i) {
    codes[i] = static_cast<int8_t>(low(bytes[i]) - zero);
    codes[i + num_bytes] = static_cast<int8_t>(high(bytes[i]) - zero);
  }
}

/// The same with a fifth bit each.
void unpack_five_bits(const uint8_t* fifth_bits, const uint8_t* __restrict bytes, int zero,
                      int8_t* __restrict codes) {
  uint32_t fifth = 0;
  std::memcpy(&fifth, fifth_bits, sizeof fifth);
  for (int i = 0; i < 16; ++i) {
    const int first = low(bytes[i]) | static_cast<int>(fifth >> i & 1) << 4;
    const int second = high(bytes[i]) | static_cast<int>(fifth >> (i + 16) & 1) << 4;
    codes[i] = static_cast<int8_t>(first - zero);
    codes[i + 16] = static_cast<int8_t>(second - zero);
  }
}

/// Q4_K and Q5_K: 8 pairs of 6 bits in 12 bytes, multiples of the block's scale and offset.
void unpack_group_scales(const uint8_t* block, float* scales, float* offsets) {
  const float scale = half(block), offset = half(block + 2);
  const uint8_t* bytes = block + 4;
  for (int group = 0; group < 8; ++group) {
    int factor = 0, offset_factor = 0;
    if (group < 4) {
      factor = bytes[group] & 63;
      offset_factor = bytes[group + 4] & 63;
    } else {
      factor = low(bytes[group + 4]) | (bytes[group - 4] >> 6) << 4;
      offset_factor = high(bytes[group + 4]) | (bytes[group] >> 6) << 4;
    }
    scales[group] = scale * static_cast<float>(factor);
    offsets[group] = -(offset * static_cast<float>(offset_factor));
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
      for (int k = 0; k < 32; ++k) {
        codes[k] = static_cast<int8_t>(bytes[k] >> (part % 4 * 2) & 3);
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
      for (int k = 0; k < 32; ++k) {
        const int two = bytes[k] >> (part % 4 * 2) & 3, third = third_bits[k] >> part & 1;
        codes[k] = static_cast<int8_t>(two + 4 * third - 4);
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
      for (int k = 0; k < 32; ++k) {
        const int four = bytes[k] >> (part % 2 * 4) & 15, fifth = fifth_bits[k] >> part & 1;
        codes[k] = static_cast<int8_t>(four | fifth << 4);
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
      for (int k = 0; k < 32; ++k) {
        const int four = fours[k] >> (part % 4 / 2 * 4) & 15, two = twos[k] >> (part % 4 * 2) & 3;
        codes[k] = static_cast<int8_t>((four | two << 4) - 32);
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
