#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "model/gpu/captured_graph.h"
#include "model/gpu/gpu_kernels.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace predgen {

/// All that needs CUDA's libraries, as one file (helpers/cuda/) that is opened when a GPU is
/// wanted: programs link none of them. It stays open. It throws what LibTorch and the standard
/// library throw, whose types lie in libraries that the program has loaded, and nothing of
/// predgen's.
struct CudaModule {
  const char* build;  // is compared before anything else is read
  /// Null where there was no nvcc when it was built.
  const GpuKernels* kernels;
  /// Null where there were no headers of CUDA. `device` has an index.
  std::unique_ptr<const GraphMemory> (*make_graph_memory)(at::Device device,
                                                          StreamPriority priority);
  /// Null where there was no header of NCCL. Collectives of tensors on the GPUs of the ranks; waits
  /// for each on the host, so that one that fails throws.
  c10::intrusive_ptr<c10d::Backend> (*make_nccl_backend)(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
      std::chrono::milliseconds timeout);
};

/// $PREDGEN_CUDA_MODULE, or else libpredgen_cuda.so beside the program.
std::filesystem::path cuda_module_file();

/// Opens it, whether or not there is a GPU. UserError in one line if it cannot be loaded, or is of
/// another build than this program. Both are told by a hash of the headers that they share.
const CudaModule& open_cuda_module(const std::filesystem::path& file);

/// What there is for CUDA on this machine.
struct CudaSupport {
  bool has_driver = false;             // NVIDIA's
  const CudaModule* module = nullptr;  // null: there is no GPU, or `problem` is why
  int num_gpus = 0;                    // that LibTorch can use
  std::string problem;  // why the GPUs that the driver shows cannot be used, in one line
};

/// Found out when it is first asked for, before LibTorch is asked for anything on CUDA, and kept.
/// The module is opened only where the driver shows a GPU. May be called by several threads.
const CudaSupport& cuda_support();
inline bool has_cuda() { return cuda_support().num_gpus > 0; }

}  // namespace predgen
