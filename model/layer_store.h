#pragma once

#include <cstdint>
#include <exception>

namespace predgen {

/// Holds the weights of a model's layers when they are not all in the model. One layer at a time is
/// acquired, used and released; with several ranks, by all of them in the same order.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  /// Puts the layer's weights into the model.
  virtual void acquire(int64_t layer) = 0;
  /// Takes them out again, once all work on the layer is queued. Begins to fetch `next`
  /// concurrently with that work, if the device can and `next` is a layer.
  virtual void release(int64_t layer, int64_t next) noexcept = 0;
};

/// Keeps a layer in the model while this object lives.
class LayerLease {
 public:
  /// `store`: null if the layers are always in the model.
  LayerLease(LayerStore* store, int64_t layer, int64_t next)
      : store_(store), layer_(layer), next_(next) {
    if (store_) store_->acquire(layer);
  }
  ~LayerLease() {
    if (store_) store_->release(layer_, std::uncaught_exceptions() > 0 ? -1 : next_);
  }
  LayerLease(const LayerLease&) = delete;
  LayerLease& operator=(const LayerLease&) = delete;

 private:
  LayerStore* const store_;
  const int64_t layer_, next_;
};

}  // namespace predgen
