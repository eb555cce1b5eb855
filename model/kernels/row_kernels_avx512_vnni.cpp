// The few-row products for AVX-512 with VNNI; compiled for them.
#if defined(__x86_64__)

#include "model/kernels/row_kernels_avx512.h"
//
#include "model/kernels/row_kernels_along_inputs.h"
#include "model/kernels/row_kernels_int4.h"

namespace predgen {

const RowKernels kAvx512VnniRowKernels{
    .float32 = {.pack = pack_as<Float32>, .multiply = multiply_along_inputs<Float32>},
    .bfloat16 = {.pack = pack_bfloat16, .multiply = multiply_bfloat16},
    .int8 = {.pack = pack_int8, .multiply = multiply_along_inputs<Int8Values>},
    .int4 = {.pack = pack_int4, .multiply = multiply_int4},
};

}  // namespace predgen

#endif
