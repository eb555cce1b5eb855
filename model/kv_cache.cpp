#include "model/kv_cache.h"

#include "core/error.h"

namespace predgen {

KvCache::KvCache(const Shape& shape, const at::TensorOptions& options) : shape_(shape) {
  PREDGEN_CHECK(shape.capacity > 0, "a cache needs room for at least one position");
  const std::vector<int64_t> sizes{shape.num_layers, shape.batch_size, shape.num_kv_heads,
                                   shape.capacity, shape.head_dim};
  keys_LBHSD_ = at::empty(sizes, options);
  values_LBHSD_ = at::empty(sizes, options);
}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& keys_BHTD,
                                                  const at::Tensor& values_BHTD) {
  const int64_t num_new = keys_BHTD.size(2);
  PREDGEN_CHECK(length_ + num_new <= capacity(),
                "cache holds {} of {} positions, {} more do not fit", length_, capacity(), num_new);
  const auto write = [&](const at::Tensor& store_LBHSD, const at::Tensor& fresh_BHTD) {
    const at::Tensor layer_BHSD = store_LBHSD.select(0, layer);
    layer_BHSD.narrow(2, length_, num_new).copy_(fresh_BHTD);
    return layer_BHSD.narrow(2, 0, length_ + num_new);
  };
  return {write(keys_LBHSD_, keys_BHTD), write(values_LBHSD_, values_BHTD)};
}

void KvCache::commit(int64_t num_tokens) {
  PREDGEN_CHECK(num_tokens >= 0 && length_ + num_tokens <= capacity(), "commit of {}", num_tokens);
  length_ += num_tokens;
}

void KvCache::truncate(int64_t length) {
  PREDGEN_CHECK(length >= 0 && length <= length_, "truncate to {} of {}", length, length_);
  length_ = length;
}

}  // namespace predgen
