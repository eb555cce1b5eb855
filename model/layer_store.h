#pragma once

#include <cstdint>

namespace predgen {

/// Where the weights of a model's layers lie when they are not all with it. One layer at a time is
/// acquired, used and released; on several ranks, by all of them in the same order.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  /// Puts the layer's weights into the model. Then begins to fetch `next` beside the work that
  /// follows, if the device can and `next` is a layer.
  virtual void acquire(int64_t layer, int64_t next) = 0;
  /// Takes them out again.
  virtual void release(int64_t layer) = 0;
};

/// A layer is in the model while this lives.
class LayerLease {
 public:
  /// `store`: null if the layers are always there.
  LayerLease(LayerStore* store, int64_t layer, int64_t next) : store_(store), layer_(layer) {
    if (store_) store_->acquire(layer, next);
  }
  ~LayerLease() {
    if (store_) store_->release(layer_);
  }
  LayerLease(const LayerLease&) = delete;
  LayerLease& operator=(const LayerLease&) = delete;

 private:
  LayerStore* const store_;
  const int64_t layer_;
};

}  // namespace predgen
