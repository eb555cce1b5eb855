#include "kernels/row_product_cpu.h"

#include <ATen/Version.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <string>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/threads/thread_team.h"

namespace predgen {
namespace {

constexpr int64_t kGrain = 256;   // outputs of one task
constexpr int64_t kOutputs = 32;  // the most that kernels take together

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

#if defined(__x86_64__)
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

const RowKernels& choose() {
#if defined(__x86_64__)
  const std::string able = at::get_cpu_capability();
  const bool has_avx512 = able.starts_with("AVX512") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512 && __builtin_cpu_supports("avx512vnni")) {
    return __builtin_cpu_supports("avx512bf16") ? kAvx512Bf16RowKernels : kAvx512VnniRowKernels;
  }
  if (has_avx512) return kAvx512RowKernels;
  if ((able == "AVX2" || able.starts_with("AVX512")) && has_f16c()) return kAvx2RowKernels;
#endif
  return kPlainRowKernels;
}

bool has_amx_bfloat16() {
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7, kAmxBf16 = 1U << 22;  // of CPUID; in edx
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmxBf16) != 0;
#else
  return false;
#endif
}

}  // namespace

const RowKernels& row_kernels() {
  static const RowKernels& kernels = choose();
  return kernels;
}

const RowKernel& row_kernel(RowWeights weights, const RowKernels& kernels) {
  switch (weights) {
    case RowWeights::kFloat32:
      return kernels.float32;
    case RowWeights::kBfloat16:
      return kernels.bfloat16;
    case RowWeights::kInt8:
      return kernels.int8;
    case RowWeights::kGroupsOf4Bits:
      return kernels.groups_of_4_bits;
    default:
      return kernels.groups_of_8_bits;
  }
}

PackedSizes packed_sizes(RowWeights weights, const RowProduct& product) {
  PackedSizes sizes{.num_values = 0,
                    .num_scales = 0,
                    .stride = round_up(product.in, kRowStep),
                    .scale_stride = round_up(product.rows, kRegisterRows)};
  sizes.num_values = product.rows * sizes.stride;
  if (weights == RowWeights::kInt8 || are_groups(weights)) {
    const int64_t block = are_groups(weights) ? product.group : kRowBlock;
    sizes.num_scales = round_up(product.in, block) / block * sizes.scale_stride;
  }
  return sizes;
}

bool has_vector_kernels_on_cpu() { return &row_kernels() != &kPlainRowKernels; }

bool has_avx2_kernels_on_cpu() {
#if defined(__x86_64__)
  return &row_kernels() == &kAvx2RowKernels;
#else
  return false;
#endif
}

bool is_libtorch_faster_at_many_rows() {
  static const bool is_faster =
      !has_vector_kernels_on_cpu() || (!has_avx2_kernels_on_cpu() && has_amx_bfloat16());
  return is_faster;
}

void run_on_cpu(RowWeights weights, const RowProduct& product, const RowKernels& kernels) {
  const int64_t unit = outputs_of_unit(weights);
  const PackedSizes sizes = packed_sizes(weights, product);
  static_assert(sizeof(float) == sizeof(int32_t));
  const at::DataPtr memory = c10::GetCPUAllocator()->allocate(
      static_cast<size_t>(sizes.num_values + 2 * sizes.num_scales) * sizeof(float));
  auto* values = static_cast<float*>(memory.get());
  float* scales = values + sizes.num_values;
  const PackedRows x{.values = values,
                     .scales = scales,
                     .sums = reinterpret_cast<int32_t*>(scales + sizes.num_scales),
                     .stride = sizes.stride,
                     .scale_stride = sizes.scale_stride};
  const RowKernel& kernel = row_kernel(weights, kernels);
  kernel.pack(product, x, 0, product.rows);
  parallel_ranges((product.out + kOutputs - 1) / kOutputs, kGrain / kOutputs,
                  [&](int64_t begin, int64_t end) {
                    kernel.multiply(product, x, begin * kOutputs / unit,
                                    round_up(std::min(end * kOutputs, product.out), unit) / unit);
                  });
}

}  // namespace predgen
