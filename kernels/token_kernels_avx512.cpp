// The kernels of a token for AVX512; compiled for it.
#if defined(__x86_64__)

#include <cstddef>
#include <cstdint>

#define PREDGEN_LANES 16
#include "kernels/token_kernels_impl.h"

namespace predgen {

const TokenKernelSet kAvx512TokenKernels = token_kernel_set();

}  // namespace predgen

#endif
