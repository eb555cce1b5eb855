#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "model/quantized_weight.h"

namespace predgen {

/// A matrix of the backbone, [out,in] without a bias, whole or in 8 bits. Immutable.
class ZonosMatrix {
 public:
  ZonosMatrix() = default;
  /// `name` is for errors; the stored matrix is on `device`.
  ZonosMatrix(const at::Tensor& weight, Quantization quantization, at::Device device,
              const std::string& name);

  /// x [..,in] -> x W^T [..,out] in the type of x.
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_;
  std::shared_ptr<const QuantizedWeight> quantized_;  // in place of weight_
};

}  // namespace predgen
