// The few-row products for AVX-512 with VNNI; compiled for them.
#if defined(__x86_64__)

#include "kernels/row_kernels_avx512.h"
//
#include "kernels/row_kernels_table.h"

namespace predgen {

const RowKernels kAvx512VnniRowKernels = kIsaRowKernels;

}  // namespace predgen

#endif
