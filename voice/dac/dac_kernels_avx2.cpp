// The DAC kernels for AVX2; compiled for it.
#if defined(__x86_64__)

#include <cstddef>
#include <cstdint>

#define PREDGEN_LANES 8
#include "voice/dac/dac_kernels_impl.h"

namespace predgen {

const DacKernels kAvx2DacKernels = all_dac_kernels();

}  // namespace predgen

#endif
