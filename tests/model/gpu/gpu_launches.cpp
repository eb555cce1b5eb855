// What the launches of the kernels for GPUs ask for, written down instead of run, for tests that
// hold it against compiled code.
//
// usage: gpu_launches instances | gpu_launches pass TOKENS | gpu_launches occupancy
//   instances: products of every kind, and the other kernels
//   pass: those of a 7B shape, a layer's and what a pass has beside its layers
//   occupancy: blocks of a processor, for each line of stdin, CAPABILITY REGISTERS STATIC DYNAMIC
//     THREADS: CUDA's own rules
#include <cuda_occupancy.h>
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/gpu/gpu_kernels.h"
#include "tests/model/gpu/emulated_cuda.h"

extern const char __executable_start;  // the linker's

namespace predgen {
namespace {

std::string note;  // JSON of the launches to come

template <int kMostBytes, class Kernel, class Grid, class Args>
void launch_with_memory(Kernel kernel, const Grid& grid, int threads, int bytes, void*,
                        const Args& args) {
  int64_t rows = 0;  // of this launch of a product
  if constexpr (std::is_same_v<Args, GpuGroupProduct>) rows = args.rows;
  fmt::print(R"({{"kernel": {}, "blocks": {}, "threads": {}, "memory": {}, "launch_rows": {}{}}})"
             "\n",
             reinterpret_cast<const char*>(kernel) - &__executable_start,
             int64_t{grid.x} * grid.y * grid.z, threads, bytes, rows, note);
}

template <class Kernel, class Grid, class Args>
void launch(Kernel kernel, const Grid& grid, int threads, void* stream, const Args& args) {
  launch_with_memory<0>(kernel, grid, threads, 0, stream, args);
}

}  // namespace
}  // namespace predgen

#include "kernels/gpu/gpu_kernels.cuh"

namespace predgen {
namespace {

struct Kind {
  std::string_view name;
  int bits, group;  // 0: one for all inputs
  GpuScaling scaling;
  int book_bytes;
};
using enum GpuScaling;
constexpr Kind kKinds[] = {{"int4", 4, 128, kHalfOffsets, 0}, {"int8", 8, 0, kHalf, 0},
                           {"q4_0", 4, 32, kHalf, 0},         {"q4_k", 4, 32, kSixBits, 0},
                           {"q6_k", 6, 16, kEightBits, 0},    {"q5_k", 5, 32, kSixBits, 0},
                           {"q5_0", 5, 32, kHalf, 0},         {"q5_1", 5, 32, kHalfOffsets, 0},
                           {"mxfp4", 4, 32, kExponents, 1},   {"iq4_nl", 4, 32, kHalf, 1},
                           {"nf4", 4, 64, kHalf, 2},          {"bf16", 16, 0, kHalf, 0}};

GpuKernels recorded() {
  return kernels_with([]() -> const char* { return nullptr; }, [](int) { return GpuSupport{}; });
}

int64_t bytes_of(const Kind& kind, int64_t out, int64_t in) {
  const int64_t group = kind.group == 0 ? in : kind.group;
  if (kind.bits == 16) return out * in * 2;
  const int64_t codes = out * in * kind.bits / 8;
  if (kind.scaling == kSixBits) return codes + out * in / kGpuBlockInputs * 16;
  if (kind.scaling == kEightBits) return codes + out * in / kGpuBlockInputs * 18;
  if (kind.scaling == kExponents) return codes + out * (in / group);
  return codes + out * (in / group) * (kind.scaling == kHalfOffsets ? 4 : 2);
}

void product(const Kind& kind, std::string_view name, int64_t out, int64_t in, int64_t rows) {
  note = fmt::format(
      R"(, "what": "{}", "kind": "{}", "rows": {}, "out": {}, "in": {}, "bytes": {}, "bits": {})",
      name, kind.name, rows, out, in, bytes_of(kind, out, in), kind.bits);
  GpuGroupProduct product{};
  product.bits = kind.bits;
  product.group = kind.group == 0 ? static_cast<int>(in) : kind.group;
  product.scaling = kind.scaling;
  product.book.num_bytes = kind.book_bytes;
  product.in = in;
  product.out = out;
  product.rows = rows;
  recorded().group_product(product, nullptr);
}

/// Of Qwen2.5-7B.
struct Shape {
  int64_t hidden = 3584, inner = 18944, vocabulary = 152064, layers = 28;
  int heads = 28, key_heads = 4, head_dim = 128, context = 512, tile = 4;
  int64_t qkv() const { return (heads + 2 * key_heads) * head_dim; }
};

void other_kernels(GpuType type, const Shape& shape, int tokens) {
  const GpuKernels kernels = recorded();
  const int value = type == GpuType::kFloat32 ? 4 : 2;
  // `parts`: of the L2 cache, one of which the launch reads ahead.
  const auto say = [&](std::string_view name, int64_t bytes, int64_t parts = 0) {
    note = fmt::format(R"(, "what": "{}", "rows": {}, "bytes": {}, "parts": {})", name, tokens,
                       bytes, parts);
  };
  say("embed", tokens * shape.hidden * (value + 4));
  GpuEmbedding embedding{};
  embedding.num_tokens = tokens;
  kernels.embed(type, embedding, nullptr);
  say("norm", tokens * shape.hidden * (2 * value + 8), kNormPartsOfL2);
  GpuNorm norm{};
  norm.num_rows = tokens;
  kernels.norm(type, norm, nullptr);
  say("heads", tokens * (shape.qkv() * 2 * value + int64_t{shape.heads} * shape.head_dim * 2));
  GpuHeads heads{};
  heads.num_tokens = tokens;
  heads.num_heads = shape.heads;
  heads.num_key_heads = shape.key_heads;
  kernels.place_heads(type, heads, nullptr);
  say("attend", int64_t{2} * shape.context * shape.key_heads * shape.head_dim * value,
      kAttentionPartsOfL2);
  GpuAttention attention{};
  attention.num_tokens = tokens;
  attention.num_heads = shape.heads;
  attention.num_key_heads = shape.key_heads;
  attention.head_dim = shape.head_dim;
  attention.tile = std::min(shape.tile, tokens);
  attention.num_splits = 64;
  attention.num_tiles = (tokens - 1) / attention.tile + 1;
  kernels.attend(type, attention, nullptr);
  say("gate", tokens * shape.inner * 3 * value, kGatePartsOfL2);
  GpuGate gate{};
  gate.num_tokens = tokens;
  gate.width = static_cast<int>(shape.inner);
  kernels.gate(type, gate, nullptr);
}

void instances() {
  for (const GpuType type : {GpuType::kFloat32, GpuType::kBfloat16}) {
    other_kernels(type, {}, 1);
    note = R"(, "what": "path", "rows": 1, "bytes": 0)";
    GpuKeptPath path{};
    path.num_layers = path.num_key_heads = 1;
    recorded().keep_path(type, path, nullptr);
    note = R"(, "what": "adapter", "rows": 1, "bytes": 0)";
    GpuAdapter adapter{};
    adapter.num_tokens = adapter.rank = 1;
    adapter.out = 1;
    recorded().adapt(type, adapter, nullptr);
  }
  for (const int64_t out : {3584, 37888}) {
    for (const int64_t rows : {1, 2, 4, 8, 16, 24, 32, 40, 72}) {
      for (const Kind& kind : kKinds) product(kind, "product", out, 3584, rows);
      // Q2_K, Q3_K, and Q6_K whose inputs are in another order than in the file.
      product({"q2_k", 4, 16, kHalfOffsets, 0}, "product", out, 3584, rows);
      product({"q3_k", 4, 16, kHalf, 0}, "product", out, 3584, rows);
      product({"reordered", 8, 16, kHalf, 0}, "product", out, 3584, rows);
    }
  }
  note = R"(, "what": "widen", "rows": 0, "bytes": 0)";
  for (const Kind& kind : kKinds) {
    if (kind.bits == 16) continue;
    GpuGroupProduct matrix{};
    matrix.bits = kind.bits;
    matrix.scaling = kind.scaling;
    matrix.book.num_bytes = kind.book_bytes;
    matrix.in = matrix.out = 3584;
    recorded().widen_groups(matrix, nullptr);
  }
}

void pass(int tokens) {
  const Shape shape;
  other_kernels(GpuType::kBfloat16, shape, tokens);
  for (const Kind& kind : kKinds) {
    product(kind, "qkv", shape.qkv(), shape.hidden, tokens);
    product(kind, "o", shape.hidden, shape.hidden, tokens);
    product(kind, "gate+up", 2 * shape.inner, shape.hidden, tokens);
    product(kind, "down", shape.hidden, shape.inner, tokens);
    product(kind.bits == 16 ? kind : kKinds[1], fmt::format("head of {}", kind.name),
            shape.vocabulary, shape.hidden, tokens);
  }
}

/// What CUDA's programming guide says of a compute capability.
cudaOccDeviceProp processor(int capability) {
  const bool is_large = capability == 80 || capability == 90 || capability == 100;
  const size_t shared = capability == 80 ? 164 : is_large ? 228 : 100;  // KB
  cudaOccDeviceProp device;
  device.computeMajor = capability / 10;
  device.computeMinor = capability % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = is_large ? 2048 : 1536;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = shared << 10;
  device.sharedMemPerBlockOptin = (shared - 1) << 10;
  device.reservedSharedMemPerBlock = 1 << 10;
  device.numSms = 1;
  return device;
}

int occupancy() {
  int capability = 0, registers = 0, threads = 0;
  size_t fixed = 0, dynamic = 0;
  while (std::cin >> capability >> registers >> fixed >> dynamic >> threads) {
    const cudaOccDeviceProp device = processor(capability);
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = fixed;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = dynamic;
    kernel.numBlockBarriers = 1;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel,
                                                                       &state, threads, dynamic);
    if (error != CUDA_OCC_SUCCESS) {
      fmt::print(stderr, "cuda_occupancy.h refuses compute capability {}: {}\n", capability,
                 static_cast<int>(error));
      return 1;
    }
    fmt::print("{}\n", result.activeBlocksPerMultiprocessor);
  }
  return 0;
}

int run(std::string_view what, std::string_view tokens) {
  if (what == "occupancy") return occupancy();
  if (what == "instances") {
    instances();
  } else if (what == "pass" && !tokens.empty()) {
    pass(std::stoi(std::string(tokens)));
  } else {
    fmt::print(stderr, "usage: gpu_launches instances | pass TOKENS | occupancy\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace predgen

int main(int argc, char** argv) {
  return predgen::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
