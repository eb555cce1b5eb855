#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "tensors/stored_tensors.h"

namespace predgen {

/// How a GGUF file stores the values of a tensor (ggml-common.h and ggml-quants.c of llama.cpp).
struct GgufType {
  uint32_t number;        // in the file
  std::string_view name;  // "Q4_K"
  at::ScalarType plain;   // for F32, F16, BF16; for others Undefined
  int64_t block_values;   // consecutive values of a row that are stored together; 1 if plain
  int64_t block_bytes;
  CodeLayout layout;  // of the others
  /// For the others: unpacks consecutive blocks to codes [num_blocks * block_values], scales and
  /// offsets [num_blocks * block_values / layout.group]. scale * code + offset (with a book, scale
  /// * book[code] + offset), each rounded to float32, is what llama.cpp's and PyPI gguf's
  /// dequantisation gives. Types without offsets get -0, which changes no value; products are
  /// exact, so fusing them makes no difference.
  void (*unpack)(const uint8_t* blocks, int64_t num_blocks, int8_t* codes, float* scales,
                 float* offsets);
  int64_t scales_at = 0;  // in a block: the bytes of CodedRows::blocks

  bool is_plain() const { return unpack == nullptr; }
};

/// All supported types: F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL
/// IQ4_XS MXFP4.
std::span<const GgufType> gguf_types();
/// Null for a number of no supported type.
const GgufType* find_gguf_type(uint32_t number);
/// ggml's name of a type, even if unsupported: "IQ2_XXS". Empty if ggml has no such type.
std::string_view gguf_type_name(uint32_t number);

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
