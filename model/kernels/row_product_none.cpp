// In place of row_product_cuda.cu where there is no nvcc.
#include "model/kernels/row_product.h"

namespace predgen {

bool has_int8_product_on_cuda() { return false; }

const char* run_on_cuda(const Int8Product&, void*) { return "this build has no CUDA kernels"; }

}  // namespace predgen
