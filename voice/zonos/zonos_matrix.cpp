#include "voice/zonos/zonos_matrix.h"

#include "model/row_product.h"

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
  return few_row_linear(input, weight_, {});
}

}  // namespace predgen
