// The kernels of a token for AVX2; compiled for it.
#if defined(__x86_64__)

#include <cstddef>
#include <cstdint>

#define PREDGEN_LANES 8
#include "kernels/token_kernels_impl.h"

namespace predgen {

const TokenKernelSet kAvx2TokenKernels = token_kernel_set();

}  // namespace predgen

#endif
