#include "train/base/frozen_layers.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "core/error.h"

namespace predgen {

FrozenLayers::FrozenLayers(Transformer& model, const BaseConfig& config, Communicator& communicator)
    : codec_(make_codec(config.weights, model.dtype())),
      config_(config),
      communicator_(communicator),
      device_(model.device()),
      type_(model.activations()) {
  const at::NoGradGuard no_grad;
  if (!device_.is_cpu()) {
    const c10::impl::VirtualGuardImpl guard(device_.type());
    stream_ = guard.getStreamFromGlobalPool(device_);
  }
  const std::vector<Linear*> all = model.linears();
  const size_t per_layer = all.size() / static_cast<size_t>(model.config().num_layers);
  for (size_t begin = 0; begin < all.size(); begin += per_layer) {
    Layer layer;
    layer.linears.assign(all.begin() + static_cast<int64_t>(begin),
                         all.begin() + static_cast<int64_t>(begin + per_layer));
    int64_t num_values = 0;
    for (const Linear* linear : layer.linears) {
      layer.shapes.push_back(linear->weight.sizes().vec());
      num_values += linear->weight.numel();
    }
    at::Tensor bytes_C = codec_->encode(own_values(layer.linears, num_values).to(device_));
    if (config_.offload) bytes_C = device_.is_cpu() ? bytes_C : bytes_C.cpu().pin_memory();
    layer.kept_1C = bytes_C.unsqueeze(0);
    for (Linear* linear : layer.linears) linear->weight = at::Tensor();
    layers_.push_back(std::move(layer));
  }
}

FrozenLayers::~FrozenLayers() = default;

at::Tensor FrozenLayers::own_values(const std::vector<Linear*>& linears, int64_t num_values) const {
  const int64_t num_pieces = config_.shard ? communicator_.world_size() : 1;
  const int64_t granule = codec_->granule() * num_pieces;
  const int64_t size = (num_values + granule - 1) / granule * codec_->granule();
  const int64_t begin = config_.shard ? communicator_.rank() * size : 0;
  at::Tensor values = at::zeros({size}, linears.front()->weight.options().device(at::kCPU));
  int64_t place = 0;  // of the next weight among the values of the layer
  for (const Linear* linear : linears) {
    const int64_t count = linear->weight.numel();
    const int64_t first = std::max(begin, place), last = std::min(begin + size, place + count);
    if (first < last) {
      values.narrow(0, first - begin, last - first)
          .copy_(linear->weight.flatten().narrow(0, first - place, last - first));
    }
    place += count;
  }
  return values;
}

at::Tensor FrozenLayers::fetch(int64_t layer) {
  ++num_fetches_;
  const at::Tensor own_1C =
      layers_[static_cast<size_t>(layer)].kept_1C.to(device_, /*non_blocking=*/true);
  if (!config_.shard) return own_1C;
  const at::Tensor all_PC =
      at::empty({communicator_.world_size(), own_1C.size(1)}, own_1C.options());
  communicator_.all_gather(own_1C, all_PC);
  return all_PC;
}

void FrozenLayers::begin_fetch(int64_t layer) {
  const c10::StreamGuard guard(*stream_);
  Fetched fetched{fetch(layer), c10::Event(device_.type())};
  fetched.done.record(*stream_);
  ahead_.emplace(layer, std::move(fetched));
}

void FrozenLayers::acquire(int64_t layer, int64_t next) {
  const at::NoGradGuard no_grad;
  at::Tensor bytes_PC;
  if (const auto found = ahead_.find(layer); found != ahead_.end()) {
    const c10::impl::VirtualGuardImpl guard(device_.type());
    const c10::Stream current = guard.getStream(device_);
    found->second.done.block(current);
    bytes_PC = std::move(found->second.bytes_PC);
    bytes_PC.record_stream(current);
    ahead_.erase(found);
  } else {
    bytes_PC = fetch(layer);
  }
  const at::Tensor values = codec_->decode(bytes_PC, type_);
  const Layer& own = layers_[static_cast<size_t>(layer)];
  int64_t begin = 0;
  for (size_t i = 0; i < own.linears.size(); ++i) {
    const int64_t count = c10::multiply_integers(own.shapes[i]);
    own.linears[i]->weight = values.narrow(0, begin, count).view(own.shapes[i]);
    begin += count;
  }
  if (stream_ && next >= 0 && next < static_cast<int64_t>(layers_.size())) begin_fetch(next);
}

void FrozenLayers::release(int64_t layer) {
  for (Linear* linear : layers_[static_cast<size_t>(layer)].linears) linear->weight = at::Tensor();
}

int64_t FrozenLayers::kept_bytes() const {
  int64_t bytes = 0;
  for (const Layer& layer : layers_) bytes += layer.kept_1C.numel();
  return bytes;
}

}  // namespace predgen
