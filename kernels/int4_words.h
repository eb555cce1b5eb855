#pragma once

#include <ATen/ATen.h>

namespace predgen {

/// 4-bit weights for CPUs: `q` uint8 [out,in] in [0,15], `out` a multiple of 16 and `in` of 8, as
/// int32 [out/16,in/8,16]. Inputs 2k and 2k + 1 of eight are in bits 4k and 16 + 4k.
at::Tensor pack_int4(const at::Tensor& q);
/// Error unless `words` are of pack_int4() and `scales`, bfloat16 [out/16,groups,16,2], a scale and
/// an offset for each group of their inputs: W ~ (q - 8) * scale + offset.
void check_int4_words(const at::Tensor& words, const at::Tensor& scales);
/// The matrix W in bfloat16 [out,in].
at::Tensor widen_int4(const at::Tensor& words, const at::Tensor& scales);

}  // namespace predgen
