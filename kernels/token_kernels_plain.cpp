// The kernels of a token for any processor.

#include <cstddef>
#include <cstdint>

#define PREDGEN_LANES 4
#include "kernels/token_kernels_impl.h"

namespace predgen {

const TokenKernelSet kPlainTokenKernels = token_kernel_set();

}  // namespace predgen
