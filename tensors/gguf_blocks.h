#pragma once

#include <cstdint>

namespace predgen {

// The blocks of llama.cpp's types, named as in ggml-quants.c; see GgufType::unpack for what they
// unpack to. Scales are float16 (MXFP4: powers of two); each product of a scale with a factor or a
// code fits into float32 without rounding.

/// values[i] = scale * codes[i] + offset, for groups with one scale and one offset each; with a
/// `book` of 16 values, scale * book[codes[i]] + offset. Null: none.
void combine_codes(const int8_t* codes, const float* scales, const float* offsets,
                   int64_t num_groups, int64_t group, const float* book, float* values);
/// Of Q4_K and Q5_K: a group's factors, from the 12 bytes of a block that have those of all eight.
struct SixBitFactors {
  int scale, offset;
};
SixBitFactors six_bit_factors(const uint8_t* bytes, int group);
/// The power of two that an exponent of 8 bits (E8M0) stands for, halved: 2^(exponent - 128).
float half_of_e8m0(uint8_t exponent);

// 32 values with one scale and, in some types, one offset.
void unpack_q4_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q4_1(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q5_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q5_1(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q8_0(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_iq4_nl(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                   float* offsets);
void unpack_mxfp4(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                  float* offsets);

// 256 values in groups, whose scales and offsets are small multiples of the block's.
void unpack_q2_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q3_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q4_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q5_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_q6_k(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
void unpack_iq4_xs(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                   float* offsets);

}  // namespace predgen
