// libpredgen_cuda.so: the library that predgen opens to use a GPU (model/gpu/cuda_module.h).
#include "model/gpu/cuda_module.h"

#ifdef PREDGEN_HAS_NCCL
#include "model/gpu/nccl_backend.h"
#endif

extern "C" const predgen::CudaModule* predgen_cuda_module() {
  static const predgen::CudaModule module{
      .build = PREDGEN_BUILD,
#ifdef PREDGEN_HAS_KERNELS
      .kernels = predgen::compiled_kernels(),
#else
      .kernels = nullptr,
#endif
#ifdef PREDGEN_HAS_GRAPHS
      .make_graph_memory = predgen::make_cuda_graph_memory,
#else
      .make_graph_memory = nullptr,
#endif
#ifdef PREDGEN_HAS_NCCL
      .make_nccl_backend = predgen::make_nccl_backend,
#else
      .make_nccl_backend = nullptr,
#endif
  };
  return &module;
}
