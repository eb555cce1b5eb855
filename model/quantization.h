#pragma once

#include <cstdint>
#include <string>

namespace predgen {

/// kStored: matrices that a checkpoint stores in few bits stay so; the rest is as with kNone.
enum class Quantization { kNone, kInt8, kInt4, kStored };

/// "none", "int8", "int4" or "stored"; UserError otherwise.
Quantization parse_quantization(const std::string& name);

/// How the weight of this Hugging Face name is stored when kInt8 or kInt4 is asked for: linear
/// layers are packed that way, an untied head in 8 bits (4 would cost 3 % of perplexity),
/// everything else is unchanged.
Quantization quantization_of(const std::string& weight_name, Quantization asked);
/// How many inputs share scale and offset in 4 bits; 0 if a matrix of this size cannot be packed.
int64_t int4_group(int64_t out, int64_t in);
/// Bytes that QuantizedWeight keeps of a matrix; if it cannot be packed, its bytes in bfloat16.
int64_t quantized_bytes(int64_t out, int64_t in, Quantization kind);

}  // namespace predgen
