// The kernels of gpu_kernels.h. Included where launch(kernel, grid, threads, stream, arguments) and
// CUDA's keywords are defined: by gpu_kernels_cuda.cu, and by the tests, which define them for
// CPUs.
#pragma once

#include "kernels/gpu/gpu_adapter.cuh"
#include "kernels/gpu/gpu_attention.cuh"
#include "kernels/gpu/gpu_group_product.cuh"
#include "kernels/gpu/gpu_token_kernels.cuh"

namespace predgen {
namespace {

template <class T>
struct Launches {
  static void embed(const GpuEmbedding& a, void* stream) {
    launch(embed_kernel<T>, Grid{a.num_tokens}, kRowThreads, stream, a);
  }
  static void norm(const GpuNorm& a, void* stream) {
    const int ahead = reads_ahead(a.ahead) ? kNormBlocksAhead : 0;
    launch(norm_kernel<T>, Grid{a.num_rows + ahead}, kNormThreads, stream, a);
  }
  static void place_heads(const GpuHeads& a, void* stream) {
    const Grid grid{a.num_heads + 2 * a.num_key_heads, a.num_tokens};
    launch(place_heads_kernel<T>, grid, kHeadThreads, stream, a);
  }
  static void attend(const GpuAttention& a, void* stream) {
    const Grid grid{a.num_splits, a.num_key_heads, a.num_tiles + reads_ahead(a.ahead)};
    launch(attend_kernel<T>, grid, kAttendThreads, stream, a);
  }
  static void adapt(const GpuAdapter& a, void* stream) {
    launch(adapter_inputs_kernel<T>, Grid{a.rank, a.num_tokens}, kAdapterThreads, stream, a);
    const int blocks = static_cast<int>((a.out + kAdapterThreads - 1) / kAdapterThreads);
    launch(adapter_outputs_kernel<T>, Grid{blocks, a.num_tokens}, kAdapterThreads, stream, a);
  }
  static void keep_path(const GpuKeptPath& a, void* stream) {
    launch(keep_path_kernel<T>, Grid{a.num_key_heads, 2 * a.num_layers}, kHeadThreads, stream, a);
  }
  static void gate(const GpuGate& a, void* stream) {
    const Grid grid{(a.width + kRowThreads - 1) / kRowThreads, a.num_tokens + reads_ahead(a.ahead)};
    launch(gate_kernel<T>, grid, kRowThreads, stream, a);
  }
};

template <class Args, void (*kFloat32)(const Args&, void*), void (*kBfloat16)(const Args&, void*)>
void by_type(GpuType type, const Args& args, void* stream) {
  type == GpuType::kFloat32 ? kFloat32(args, stream) : kBfloat16(args, stream);
}

GpuKernels kernels_with(const char* (*error)(), GpuSupport (*support)(int)) {
  using Wide = Launches<float>;
  using Half = Launches<Bfloat16>;
  return {by_type<GpuEmbedding, Wide::embed, Half::embed>,
          by_type<GpuNorm, Wide::norm, Half::norm>,
          by_type<GpuHeads, Wide::place_heads, Half::place_heads>,
          by_type<GpuAttention, Wide::attend, Half::attend>,
          by_type<GpuGate, Wide::gate, Half::gate>,
          by_type<GpuAdapter, Wide::adapt, Half::adapt>,
          by_type<GpuKeptPath, Wide::keep_path, Half::keep_path>,
          group_product_launch,
          widen_groups_launch,
          error,
          support};
}

}  // namespace
}  // namespace predgen
