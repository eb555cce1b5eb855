#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "kernels/gpu/gpu_kernels.h"
#include "model/gpu/captured_graph.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace predgen {

/// All code that needs CUDA's libraries, in one shared library (model/gpu/) that is opened when
/// a GPU is wanted and stays open: programs do not link CUDA. It throws only exceptions of LibTorch
/// and the standard library, whose types are in libraries that the program has loaded, and none of
/// predgen's.
struct CudaModule {
  const char* build;  // compared before anything else is read
  /// Null if it was built without nvcc.
  const GpuKernels* kernels;
  /// Null if it was built without CUDA's headers. `device` must have an index.
  std::unique_ptr<const GraphMemory> (*make_graph_memory)(at::Device device,
                                                          StreamPriority priority);
  /// Null if it was built without NCCL's header. Collectives of tensors on the ranks' GPUs; the
  /// host waits for each, so that one that fails throws.
  c10::intrusive_ptr<c10d::Backend> (*make_nccl_backend)(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
      std::chrono::milliseconds timeout);
};

/// $PREDGEN_CUDA_MODULE, or else libpredgen_cuda.so beside the program.
std::filesystem::path cuda_module_file();

/// Opens it, whether or not there is a GPU. UserError in one line if it cannot be loaded, or is of
/// another build than this program. Builds are told apart by a hash of the headers that they share.
const CudaModule& open_cuda_module(const std::filesystem::path& file);

/// The CUDA support of this machine.
struct CudaSupport {
  bool has_driver = false;             // NVIDIA's
  const CudaModule* module = nullptr;  // null: there is no GPU, or `problem` is why
  int num_gpus = 0;                    // those that LibTorch can use
  std::string problem;  // why the GPUs that the driver shows cannot be used, in one line
};

/// Determined at the first call, before LibTorch is asked for anything on CUDA, and cached. The
/// module is opened only if the driver shows a GPU. Thread-safe.
const CudaSupport& cuda_support();
inline bool has_cuda() { return cuda_support().num_gpus > 0; }

}  // namespace predgen
