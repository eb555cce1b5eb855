// The DAC kernels for any processor.
#include <cstddef>
#include <cstdint>

#define PREDGEN_LANES 4
#include "voice/dac/dac_kernels_impl.h"

namespace predgen {

const DacKernels kPlainDacKernels = all_dac_kernels();

}  // namespace predgen
