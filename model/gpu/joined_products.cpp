#include "model/gpu/joined_products.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <initializer_list>
#include <memory>
#include <vector>

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

}  // namespace predgen
