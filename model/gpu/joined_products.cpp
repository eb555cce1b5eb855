#include "model/gpu/joined_products.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <initializer_list>
#include <memory>
#include <vector>

namespace predgen {
namespace {

/// False: they are not all there, or of different types.
bool join(std::initializer_list<at::Tensor*> parts) {
  std::vector<at::Tensor> separate;
  for (const at::Tensor* part : parts) {
    if (!part->defined() || part->scalar_type() != (*parts.begin())->scalar_type()) return false;
    separate.push_back(*part);
  }
  const at::Tensor whole = at::cat(separate);
  int64_t begin = 0;
  for (at::Tensor* part : parts) {
    const int64_t rows = part->size(0);
    *part = whole.narrow(0, begin, rows);
    begin += rows;
  }
  return true;
}

/// The same for weights in few bits.
bool join_quantized(std::initializer_list<Linear*> linears) {
  std::vector<const QuantizedWeight*> separate;
  for (const Linear* linear : linears) separate.push_back(linear->quantized.get());
  auto parts = QuantizedWeight::in_one_piece(separate);
  for (size_t i = 0; i < parts.size(); ++i) {
    linears.begin()[i]->quantized = std::move(parts[i]);
  }
  return !parts.empty();
}

/// Beside values of another kind, as half of the layers of a Q4_K_M file have, queries and keys.
void join_heads(Linear& q, Linear& k, Linear& v) {
  if (!join({&q.weight, &k.weight, &v.weight})) join({&q.weight, &k.weight});
  if (!join_quantized({&q, &k, &v})) join_quantized({&q, &k});
  join({&q.bias, &k.bias, &v.bias});
}

}  // namespace

void join_products(std::span<DecoderLayer> layers) {
  if (layers.empty()) return;
  const Linear& first = layers.front().attention->q;
  const at::Device device = first.quantized ? first.quantized->device() : first.weight.device();
  for (DecoderLayer& layer : layers) {
    Linear &gate = layer.feed_forward->gate, &up = layer.feed_forward->up;
    join_heads(layer.attention->q, layer.attention->k, layer.attention->v);
    join({&gate.weight, &up.weight});
    join({&gate.bias, &up.bias});
    join_quantized({&gate, &up});
    // The weights' old blocks fit no later allocation, not even the next layer's.
    if (device.is_cuda()) c10::getDeviceAllocator(device.type())->emptyCache();
  }
}

}  // namespace predgen
