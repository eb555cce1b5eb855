#include "voice/dac/dac_kernels.h"

#include "kernels/row_product_cpu.h"

namespace predgen {

const DacKernels& dac_kernels() {
#if defined(__x86_64__)
  static const DacKernels& kernels = !has_vector_kernels_on_cpu() ? kPlainDacKernels
                                     : has_avx2_kernels_on_cpu()  ? kAvx2DacKernels
                                                                  : kAvx512DacKernels;
  return kernels;
#else
  return kPlainDacKernels;
#endif
}

}  // namespace predgen
