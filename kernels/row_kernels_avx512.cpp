// The few-row products for AVX-512; compiled for its F, BW, DQ and VL.
#if defined(__x86_64__)

#include "kernels/row_kernels_avx512.h"
//
#include "kernels/row_kernels_table.h"

namespace predgen {

const RowKernels kAvx512RowKernels = kIsaRowKernels;

}  // namespace predgen

#endif
