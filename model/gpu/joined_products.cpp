#include "model/gpu/joined_products.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "model/gpu/gpu_matrix.h"

namespace predgen {
namespace {

void join(std::initializer_list<at::Tensor*> parts) {
  std::vector<at::Tensor> separate;
  for (const at::Tensor* part : parts) {
    if (!part->defined() || part->scalar_type() != (*parts.begin())->scalar_type()) return;
    separate.push_back(*part);
  }
  const at::Tensor whole = at::cat(separate);
  int64_t begin = 0;
  for (at::Tensor* part : parts) {
    const int64_t rows = part->size(0);
    *part = whole.narrow(0, begin, rows);
    begin += rows;
  }
}

/// The same for weights in few bits.
void join_quantized(std::initializer_list<Linear*> linears) {
  std::vector<const QuantizedWeight*> separate;
  for (const Linear* linear : linears) separate.push_back(linear->quantized.get());
  auto parts = QuantizedWeight::in_one_piece(separate);
  for (size_t i = 0; i < parts.size(); ++i) {
    linears.begin()[i]->quantized = std::move(parts[i]);
  }
}

/// One product instead of several over one input, if weights and biases are contiguous.
std::optional<Linear> joined(std::span<const Linear* const> linears) {
  std::vector<at::Tensor> weights, biases;
  std::vector<const QuantizedWeight*> quantized;
  bool has_bias = false;
  for (const Linear* linear : linears) {
    if (linear->has_adapter()) return {};
    weights.push_back(linear->weight);
    quantized.push_back(linear->quantized.get());
    biases.push_back(linear->bias);
    has_bias = has_bias || linear->bias.defined();
  }
  Linear whole;
  whole.quantized = QuantizedWeight::whole_of(quantized);
  if (!whole.quantized) whole.weight = whole_of(weights);
  whole.bias = whole_of(biases);
  whole.width_invariant = linears.front()->width_invariant;
  if ((!whole.quantized && !whole.weight.defined()) || whole.bias.defined() != has_bias) return {};
  return whole;
}

}  // namespace

void join_products(std::span<DecoderLayer> layers) {
  if (layers.empty()) return;
  const Linear& first = layers.front().attention->q;
  const at::Device device = first.quantized ? first.quantized->device() : first.weight.device();
  for (DecoderLayer& layer : layers) {
    Linear &q = layer.attention->q, &k = layer.attention->k, &v = layer.attention->v;
    Linear &gate = layer.feed_forward->gate, &up = layer.feed_forward->up;
    join({&q.weight, &k.weight, &v.weight});
    join({&q.bias, &k.bias, &v.bias});
    join({&gate.weight, &up.weight});
    join({&gate.bias, &up.bias});
    join_quantized({&q, &k, &v});
    join_quantized({&gate, &up});
    // The weights' old blocks fit no later allocation, not even the next layer's.
    if (device.is_cuda()) c10::getDeviceAllocator(device.type())->emptyCache();
  }
}

JoinedProducts JoinedProducts::multiply(std::initializer_list<const Linear*> linears,
                                        const at::Tensor& x) {
  JoinedProducts products;
  size_t i = 0;
  const auto add = [&](const at::Tensor& y, int64_t begin) {
    products.rows[i] = static_cast<const char*>(y.const_data_ptr()) +
                       begin * static_cast<int64_t>(y.element_size());
    products.strides[i++] = y.stride(0);
  };
  if (const std::optional<Linear> whole = joined(std::span(linears.begin(), linears.size()))) {
    products.kept.push_back((*whole)(x));
    int64_t begin = 0;
    for (const Linear* linear : linears) {
      add(products.kept.front(), begin);
      begin += linear->quantized ? linear->quantized->out() : linear->weight.size(0);
    }
  } else {
    for (const Linear* linear : linears) {
      products.kept.push_back((*linear)(x));
      add(products.kept.back(), 0);
    }
  }
  return products;
}

}  // namespace predgen
