// A module that CudaModule's tests open: without a GPU, but with an exception of LibTorch's.
#include <c10/util/Exception.h>

#include "model/gpu/cuda_module.h"

[[gnu::visibility("hidden")]] extern const char* const planted_build;  // planted_build.cpp: each module its own

extern "C" const predgen::CudaModule* predgen_cuda_module() {
  static const predgen::CudaModule module{
      .build = planted_build,
      .kernels = nullptr,
      .make_graph_memory =
          [](at::Device, predgen::StreamPriority) -> std::unique_ptr<const predgen::GraphMemory> {
        throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "no memory here");
      },
      .make_nccl_backend = nullptr,
  };
  return &module;
}
