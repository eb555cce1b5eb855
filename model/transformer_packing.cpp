#include "model/transformer.h"

namespace predgen {

void Transformer::pack_linears(const Pack& pack) {
  std::vector<Linear*> packable = linears();
  if (!head_.quantized) packable.push_back(&head_);
  for (Linear* linear : packable) {
    auto packed = pack(linear->name + ".weight", linear->weight);
    if (!packed) continue;
    linear->quantized = std::move(packed);
    linear->weight = at::Tensor();
  }
}

void Transformer::pack_embedding(std::shared_ptr<const QuantizedWeight> packed) {
  packed_embedding_ = std::move(packed);
  embedding_ = at::empty({0, config_.hidden_size}, embedding_.options());
  if (!config_.tie_word_embeddings) return;
  head_.quantized = packed_embedding_;
  head_.weight = at::Tensor();
}

double Transformer::quantize(Quantization kind) {
  double error = 0.0;
  int64_t count = 0;
  pack_linears([&](const std::string& name, const at::Tensor& weight) {
    auto packed = std::make_shared<const QuantizedWeight>(weight, quantization_of(name, kind),
                                                          device(), name);
    error += packed->relative_error();
    ++count;
    return packed;
  });
  return error / static_cast<double>(count);
}

}  // namespace predgen
