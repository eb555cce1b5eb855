// The kernels of gpu_kernels.h as nvcc compiles them.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace predgen {
namespace {

template <class Kernel, class Grid, class Args>
void launch(Kernel kernel, const Grid& grid, int threads, void* stream, const Args& args) {
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                    static_cast<unsigned>(grid.z));
  kernel<<<blocks, static_cast<unsigned>(threads), 0, static_cast<cudaStream_t>(stream)>>>(args);
}

/// Launches with `bytes` of shared memory for dynamic_memory(): more than 48 KB need opting in, for
/// the most that the kernel is ever launched with, as other threads may be launching it.
template <int kMostBytes, class Kernel, class Grid, class Args>
void launch_with_memory(Kernel kernel, const Grid& grid, int threads, int bytes, void* stream,
                        const Args& args) {
  constexpr auto kOptingIn = cudaFuncAttributeMaxDynamicSharedMemorySize;
  // error() finds an error of this call, as it finds the launch's own.
  if (cudaFuncSetAttribute(kernel, kOptingIn, kMostBytes) != cudaSuccess) return;
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
  kernel<<<blocks, static_cast<unsigned>(threads), static_cast<size_t>(bytes),
           static_cast<cudaStream_t>(stream)>>>(args);
}

__device__ inline char* dynamic_memory() {
  extern __shared__ int4 memory[];
  return reinterpret_cast<char*>(memory);
}

// Instructions that tests emulate in C++. Those of compute capability 8.0 end a kernel with an
// error below it.

__device__ inline float half_value(uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

/// Of the bytes of low and high, counted from low's lowest, those in the four low digits of
/// `which`, each 0 to 7.
__device__ inline uint32_t byte_perm(uint32_t low, uint32_t high, uint32_t which) {
  return __byte_perm(low, high, which);
}

/// Two sums in bfloat16, rounded.
__device__ inline uint32_t add_pairs(uint32_t a, uint32_t b) {
  uint32_t sums = 0;
#if __CUDA_ARCH__ >= 800
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sums) : "r"(a), "r"(0x3F803F80), "r"(b));
#else
  __trap();
#endif
  return sums;
}

/// sums [16,8] += weights [16,16] * inputs [16,8] of a warp, in the lane layout of mma.m16n8k16.
__device__ inline void multiply_tile(float sums[4], const uint32_t weights[4],
                                     const uint32_t inputs[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "r"(inputs[0]),
        "r"(inputs[1]));
#else
  __trap();
#endif
}

/// The same with sums starting at zero.
__device__ inline void multiply_new_tile(float sums[4], const uint32_t weights[4],
                                         const uint32_t inputs[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %10, %10, %10};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "r"(inputs[0]),
        "r"(inputs[1]), "f"(0.0f));
#else
  __trap();
#endif
}

/// Copies 16 bytes, or as many zeros, to shared memory; complete after await_copies().
__device__ inline void copy_ahead(void* to, const void* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(is_there ? 16 : 0)
               : "memory");
#else
  __trap();
#endif
}

/// Brings what lies there into the L2 cache, without waiting.
__device__ inline void fetch_to_l2(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(from)));
}

/// Commits the copies started since the last call as one part.
__device__ inline void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for this thread's copies, except the last kParts parts.
template <int kParts>
__device__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kParts) : "memory");
#endif
}

}  // namespace
}  // namespace predgen

#include "kernels/gpu/gpu_kernels.cuh"

namespace predgen {
namespace {

const char* text_of(cudaError_t status) {
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

/// One kernel stands for all: if it can be loaded, so can the others of its module.
GpuSupport ask(int device) {
  GpuSupport support;
  cudaDriverGetVersion(&support.driver);
  cudaRuntimeGetVersion(&support.needed);
  int before = 0, major = 0, minor = 0, l2 = 0;
  cudaGetDevice(&before);
  if (device != before) cudaSetDevice(device);
  cudaFuncAttributes attributes;
  support.error = text_of(cudaFuncGetAttributes(&attributes, attend_kernel<Bfloat16>));
  if (device != before) cudaSetDevice(before);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device);
  support.capability = 10 * major + minor;
  support.l2_bytes = l2;
  cudaGetLastError();  // cleared: launches check their own errors
  return support;
}

}  // namespace

const GpuKernels* compiled_kernels() {
  static const GpuKernels kernels = kernels_with([] { return text_of(cudaGetLastError()); }, ask);
  return &kernels;
}

}  // namespace predgen
