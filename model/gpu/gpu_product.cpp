#include "model/gpu/gpu_product.h"

#include <c10/core/DeviceGuard.h>

#include "core/error.h"
#include "model/stream_priority.h"

namespace predgen {
namespace {

constexpr int64_t kInputsAtOnce = 16;

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 16 == 0;
}

/// Launches `product` of these inputs, as wide as its matrix.
at::Tensor launched(const GpuKernels& kernels, GpuGroupProduct product, const at::Tensor& x,
                    const at::Tensor& bias, at::ScalarType type, int splits) {
  PREDGEN_CHECK(type == at::kBFloat16 || type == at::kFloat, "a product in {}", c10::str(type));
  const at::Tensor rows = is_aligned(x) ? x : x.clone();
  at::Tensor y = at::empty({x.size(0), product.out}, x.options().dtype(type));
  const at::Tensor biases = bias.defined() ? bias.to(at::kBFloat16).contiguous() : bias;
  product.x = rows.const_data_ptr();
  product.bias = biases.defined() ? biases.const_data_ptr() : nullptr;
  product.y = y.mutable_data_ptr();
  product.rows = x.size(0);
  product.is_wide = type == at::kFloat;
  product.num_splits = splits > 0 ? splits : num_gpu_splits(product.out);
  at::Tensor parts;
  if (product.rows > kMaxGpuNarrowRows) {
    parts =
        at::empty({num_gpu_parts(product.out, product.num_splits)}, x.options().dtype(at::kFloat));
    product.parts = parts.mutable_data_ptr<float>();
  }
  const c10::DeviceGuard guard(x.device());
  kernels.group_product(product, stream_of(x));
  check_launched(kernels);
  return y;
}

}  // namespace

void* stream_of(const at::Tensor& tensor) {
  return tensor.is_cuda() ? current_cuda_stream(tensor.device()) : nullptr;
}

void check_launched(const GpuKernels& kernels) {
  if (const char* problem = kernels.error()) {
    throw Error("the kernel of a product cannot be launched: {}", problem);
  }
}

at::Tensor multiply(const GpuKernels& kernels, const GpuMatrix& matrix, const at::Tensor& x,
                    const at::Tensor& bias, at::ScalarType type, int splits) {
  PREDGEN_CHECK(x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.size(0) >= 1 &&
                    (x.size(1) + kInputsAtOnce - 1) / kInputsAtOnce * kInputsAtOnce == matrix.in &&
                    x.device() == matrix.words.device(),
                "{} for {}-bit weights of {} inputs", c10::str(x.sizes()), matrix.bits, matrix.in);
  const at::Tensor rows =
      x.size(1) == matrix.in ? x.contiguous() : at::constant_pad_nd(x, {0, matrix.in - x.size(1)});
  return launched(kernels, matrix.product(), rows, bias, type, splits);
}

bool can_multiply_bfloat16(const at::Tensor& weight, const at::Tensor& x) {
  return weight.dim() == 2 && weight.scalar_type() == at::kBFloat16 &&
         x.scalar_type() == at::kBFloat16 && weight.is_contiguous() && weight.size(1) % 8 == 0 &&
         is_aligned(weight) && weight.device() == x.device();
}

at::Tensor multiply_bfloat16(const GpuKernels& kernels, const at::Tensor& weight,
                             const at::Tensor& counters, const at::Tensor& x,
                             const at::Tensor& bias, at::ScalarType type, int splits) {
  PREDGEN_CHECK(can_multiply_bfloat16(weight, x) && x.dim() == 2 && x.size(0) >= 1 &&
                    x.size(1) == weight.size(1),
                "{} for weights {}", c10::str(x.sizes()), c10::str(weight.sizes()));
  PREDGEN_CHECK(counters.numel() >= num_gpu_counters(weight.size(0)), "{} counters",
                counters.numel());
  const GpuGroupProduct product{.words = weight.const_data_ptr(),
                                .scales = nullptr,
                                .bits = 16,
                                .group = static_cast<int>(weight.size(1)),
                                .scaling = GpuScaling::kHalf,
                                .book = {},
                                .in = weight.size(1),
                                .out = weight.size(0),
                                .x = nullptr,
                                .bias = nullptr,
                                .y = nullptr,
                                .rows = 0,
                                .is_wide = false,
                                .num_splits = 0,
                                .counters = counters.mutable_data_ptr<int>(),
                                .parts = nullptr};
  return launched(kernels, product, x.contiguous(), bias, type, splits);
}

}  // namespace predgen
