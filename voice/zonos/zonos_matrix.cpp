#include "voice/zonos/zonos_matrix.h"

#include "model/kernels/row_product.h"

namespace predgen {

ZonosMatrix::ZonosMatrix(const at::Tensor& weight, Quantization quantization, at::Device device,
                         const std::string& name) {
  if (quantization == Quantization::kNone) {
    weight_ = weight;
  } else {
    quantized_ = std::make_shared<QuantizedWeight>(weight, quantization, device, name);
  }
}

at::Tensor ZonosMatrix::operator()(const at::Tensor& input) const {
  if (quantized_) return (*quantized_)(input);
  const at::Tensor rows = input.reshape({-1, input.size(-1)});
  if (!has_bfloat16_product(rows)) return at::linear(input, weight_);
  const at::Tensor output = bfloat16_product(rows, weight_);
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = output.size(-1);
  return output.view(sizes);
}

}  // namespace predgen
