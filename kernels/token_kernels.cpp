#include "kernels/token_kernels.h"

#include "kernels/row_product_cpu.h"

namespace predgen {

const TokenKernelSet& token_kernels() {
#if defined(__x86_64__)
  static const TokenKernelSet& kernels = !has_vector_kernels_on_cpu() ? kPlainTokenKernels
                                         : has_avx2_kernels_on_cpu()  ? kAvx2TokenKernels
                                                                      : kAvx512TokenKernels;
  return kernels;
#else
  return kPlainTokenKernels;
#endif
}

}  // namespace predgen
