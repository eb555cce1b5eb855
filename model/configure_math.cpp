#include "model/configure_math.h"

#include <ATen/Context.h>

namespace predgen {

void configure_math() {
  at::Context& context = at::globalContext();
  // cuDNN's attention plans every new shape, and each token has one; its gradients under a mask can
  // be wrong (pytorch#196678).
  context.setSDPUseCuDNN(false);
  // TF32 has three digits.
  context.setFloat32MatmulPrecision("highest");
  context.setAllowTF32CuDNN(false);
  // cuBLAS may split a sum and add the parts in the narrow type.
  context.setAllowBF16ReductionCuBLAS(false, /*allow_splitk=*/true);
  context.setAllowFP16ReductionCuBLAS(false, /*allow_splitk=*/true);
}

}  // namespace predgen
