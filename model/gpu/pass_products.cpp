#include "model/gpu/pass_products.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kernels/row_tiles.h"
#include "model/gpu/gpu_matrix.h"
#include "model/gpu/gpu_product.h"
#include "model/gpu/gpu_support.h"

namespace predgen {
namespace {

/// x W^T in float32, by LibTorch.
at::Tensor tiled_product(const at::Tensor& x, const at::Tensor& weight) {
  return in_row_tiles(x, kTileRows, [&](const at::Tensor& rows) {
    const bool is_wide = rows.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat;
    if (rows.is_cuda() && !is_wide) {
      return at::mm(rows.to(weight.scalar_type()), weight.t(), at::kFloat);
    }
    return at::linear(rows.to(at::kFloat), weight.to(at::kFloat));
  });
}

int64_t outputs_of(const Linear& linear) {
  return linear.quantized ? linear.quantized->out() : linear.weight.size(0);
}

/// Their product as one, without adapters, if weights and biases are contiguous.
std::optional<Linear> whole_product(std::span<const Linear* const> linears) {
  std::vector<at::Tensor> weights, biases;
  std::vector<const QuantizedWeight*> quantized;
  bool has_bias = false;
  for (const Linear* linear : linears) {
    weights.push_back(linear->weight);
    quantized.push_back(linear->quantized.get());
    biases.push_back(linear->bias);
    has_bias = has_bias || linear->bias.defined();
  }
  Linear whole;
  whole.quantized = QuantizedWeight::whole_of(quantized);
  if (!whole.quantized) whole.weight = whole_of(weights);
  whole.bias = whole_of(biases);
  if ((!whole.quantized && !whole.weight.defined()) || whole.bias.defined() != has_bias) return {};
  return whole;
}

}  // namespace

PassProducts::PassProducts(const GpuKernels& kernels, const GpuToken* tokens,
                           const at::Tensor& counters)
    : kernels_(kernels),
      tokens_(tokens),
      counters_(counters),
      has_tensor_cores_(!counters.is_cuda() || group_kernels(counters.device()) != nullptr) {}

at::Tensor PassProducts::operator()(const Linear& linear, const at::Tensor& x) const {
  if (!linear.has_adapter()) return product(linear, x, x.scalar_type());
  return adapted(linear, x, product(linear, x, at::kFloat), 0);
}

at::Tensor PassProducts::wide(const Linear& linear, const at::Tensor& x) const {
  return product(linear, x, at::kFloat);
}

JoinedProducts PassProducts::joined(std::initializer_list<const Linear*> linears,
                                    const at::Tensor& x) const {
  const std::span all(linears.begin(), linears.size());
  const bool has_adapters =
      std::ranges::any_of(all, [](const Linear* linear) { return linear->has_adapter(); });
  const at::ScalarType type = has_adapters ? at::kFloat : x.scalar_type();
  JoinedProducts products;
  for (size_t first = 0; first < all.size();) {
    std::optional<Linear> whole;  // of as many as lie one behind the other
    size_t last = all.size();
    while (last > first + 1 && !(whole = whole_product(all.subspan(first, last - first)))) --last;
    const at::Tensor base = product(whole ? *whole : *all[first], x, type);
    for (int64_t begin = 0; first < last; ++first) {
      const Linear& linear = *all[first];
      const int64_t out = outputs_of(linear);
      const at::Tensor y = linear.has_adapter() ? adapted(linear, x, base, begin)
                                                : base.narrow(1, begin, out).to(x.scalar_type());
      products.rows[first] = y.const_data_ptr();
      products.strides[first] = y.stride(0);
      products.kept.push_back(y);
      begin += out;
    }
  }
  return products;
}

at::Tensor PassProducts::adapted(const Linear& linear, const at::Tensor& x, const at::Tensor& base,
                                 int64_t begin) const {
  const at::Tensor a = linear.lora_A.to(at::kFloat).contiguous();
  const at::Tensor b = linear.lora_B.to(at::kFloat).contiguous();
  const int64_t T = x.size(0), out = b.size(0);
  at::Tensor narrow = at::empty({T, a.size(0)}, base.options());
  at::Tensor y = at::empty({T, out}, x.options());
  kernels_.adapt(x.scalar_type() == at::kFloat ? GpuType::kFloat32 : GpuType::kBfloat16,
                 {.x = x.const_data_ptr(),
                  .a = a.const_data_ptr<float>(),
                  .b = b.const_data_ptr<float>(),
                  .tokens = tokens_,
                  .base = base.const_data_ptr<float>() + begin,
                  .base_stride = base.stride(0),
                  .num_tokens = static_cast<int>(T),
                  .rank = static_cast<int>(a.size(0)),
                  .in = x.size(1),
                  .out = out,
                  .scaling = static_cast<float>(linear.lora_scaling),
                  .narrow = narrow.mutable_data_ptr<float>(),
                  .y = y.mutable_data_ptr()},
                 stream_of(x));
  return y;
}

at::Tensor PassProducts::product(const Linear& linear, const at::Tensor& x,
                                 at::ScalarType type) const {
  if (linear.quantized) return linear.quantized->in_tiles(x, linear.bias, type);
  if (has_tensor_cores_ && can_multiply_bfloat16(linear.weight, x)) {
    return multiply_bfloat16(kernels_, linear.weight, counters_, x, linear.bias, type);
  }
  const at::Tensor y = tiled_product(x, linear.weight);
  return (linear.bias.defined() ? y + linear.bias : y).to(type);
}

}  // namespace predgen
