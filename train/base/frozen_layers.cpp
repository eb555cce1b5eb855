#include "train/base/frozen_layers.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "core/error.h"

namespace predgen::train {

PinnedBytes::PinnedBytes(const at::Tensor& bytes_C) : size_(bytes_C.numel()) {
  const at::TensorOptions options =
      bytes_C.options().device(at::kCPU).pinned_memory(!bytes_C.is_cpu());
  int64_t begin = 0;
  for (const int64_t size : block_sizes(size_)) {
    blocks_.push_back(at::empty({size}, options));
    blocks_.back().copy_(bytes_C.narrow(0, begin, size));
    begin += size;
  }
}

void PinnedBytes::copy_to(const at::Tensor& bytes_C) const {
  PREDGEN_CHECK(bytes_C.numel() == size_, "{} bytes into {}", size_, bytes_C.numel());
  int64_t begin = 0;
  for (const at::Tensor& block : blocks_) {
    bytes_C.narrow(0, begin, block.numel()).copy_(block, /*non_blocking=*/true);
    begin += block.numel();
  }
}

std::vector<int64_t> PinnedBytes::block_sizes(int64_t num_bytes) {
  std::vector<int64_t> sizes;
  while (num_bytes > 0) {
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_bytes)));
    sizes.push_back(num_bytes < kGrain ? num_bytes : power);
    num_bytes -= sizes.back();
  }
  return sizes;
}

namespace {

/// "model.layers.3" of "model.layers.3.mlp.up_proj".
std::string_view layer_of(const Linear& linear) {
  constexpr std::string_view kLayers = "model.layers.";
  const std::string_view name = linear.name;
  return name.substr(0, name.find('.', kLayers.size()));
}

}  // namespace

FrozenLayers::FrozenLayers(Transformer& model, const BaseConfig& config, Communicator& communicator)
    : codec_(make_codec(config.weights, model.dtype())),
      config_(config),
      communicator_(communicator),
      device_(model.device()),
      type_(model.activations()) {
  const at::NoGradGuard no_grad;
  const std::vector<Linear*> all = model.linears();
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Linear* linear) {
      return layer_of(*linear) != layer_of(**begin);
    });
    Layer layer;
    layer.linears.assign(begin, end);
    begin = end;
    int64_t num_values = 0;
    for (const Linear* linear : layer.linears) {
      layer.shapes.push_back(linear->weight.sizes().vec());
      num_values += linear->weight.numel();
    }
    const at::Tensor bytes_C = codec_->encode(own_values(layer.linears, num_values).to(device_));
    layer.num_bytes = bytes_C.numel();
    if (config_.offload && !device_.is_cpu()) {
      layer.offloaded.emplace(bytes_C);
    } else {
      layer.kept_1C = bytes_C.unsqueeze(0);
    }
    for (Linear* linear : layer.linears) linear->weight = at::Tensor();
    layers_.push_back(std::move(layer));
  }
  if (device_.is_cpu() || !(config.shard || config.offload)) return;
  const c10::impl::VirtualGuardImpl guard(device_.type());
  guard.getStream(device_).synchronize();  // completes the data to be fetched
  stream_ = guard.getStreamFromGlobalPool(device_);
  slots_.reserve(2);
  for (int i = 0; i < 2; ++i) slots_.emplace_back(device_.type());
}

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

void FrozenLayers::fetch(int64_t layer, at::Tensor& bytes_PC) {
  ++num_fetches_;
  const Layer& own = layers_[static_cast<size_t>(layer)];
  const int64_t num_pieces = config_.shard ? communicator_.world_size() : 1;
  const at::TensorOptions options = at::TensorOptions(at::kByte).device(device_);
  if (!bytes_PC.defined() || bytes_PC.size(1) != own.num_bytes) {  // layers may differ
    bytes_PC = at::empty({num_pieces, own.num_bytes}, options);
  }
  at::Tensor own_1C = own.kept_1C;
  if (own.offloaded) {
    own_1C = config_.shard ? at::empty({1, own.num_bytes}, options) : bytes_PC;
    own.offloaded->copy_to(own_1C.flatten());
  }
  if (config_.shard) {
    communicator_.all_gather(own_1C, bytes_PC);
  } else if (!own.offloaded) {
    bytes_PC.copy_(own_1C);
  }
}

void FrozenLayers::begin_fetch(int64_t layer) {
  Slot& slot = slots_[static_cast<size_t>(layer % 2)];
  if (slot.layer == layer) return;
  const c10::StreamGuard guard(*stream_);
  slot.used.block(*stream_);
  slot.layer = -1;
  fetch(layer, slot.bytes_PC);
  slot.fetched.record(*stream_);
  slot.layer = layer;
}

at::Tensor FrozenLayers::bytes_of(int64_t layer) {
  if (!config_.shard && !config_.offload) {
    ++num_fetches_;
    return layers_[static_cast<size_t>(layer)].kept_1C;
  }
  if (!stream_) {
    at::Tensor bytes_PC;
    fetch(layer, bytes_PC);
    return bytes_PC;
  }
  begin_fetch(layer);
  Slot& slot = slots_[static_cast<size_t>(layer % 2)];
  slot.fetched.block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return slot.bytes_PC;
}

void FrozenLayers::acquire(int64_t layer) {
  const at::NoGradGuard no_grad;
  if (failure_) std::rethrow_exception(failure_);
  const at::Tensor values = codec_->decode(bytes_of(layer), type_);
  const Layer& own = layers_[static_cast<size_t>(layer)];
  int64_t begin = 0;
  for (size_t i = 0; i < own.linears.size(); ++i) {
    const int64_t count = c10::multiply_integers(own.shapes[i]);
    own.linears[i]->weight = values.narrow(0, begin, count).view(own.shapes[i]);
    begin += count;
  }
}

void FrozenLayers::release(int64_t layer, int64_t next) noexcept {
  for (Linear* linear : layers_[static_cast<size_t>(layer)].linears) linear->weight = at::Tensor();
  if (!stream_ || failure_) return;
  try {
    slots_[static_cast<size_t>(layer % 2)].used.record(
        c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    if (next >= 0 && next < static_cast<int64_t>(layers_.size())) begin_fetch(next);
  } catch (...) {
    failure_ = std::current_exception();  // the next acquire() throws it
  }
}

int64_t FrozenLayers::kept_bytes() const {
  int64_t bytes = 0;
  for (const Layer& layer : layers_) bytes += layer.num_bytes;
  return bytes;
}

}  // namespace predgen::train
