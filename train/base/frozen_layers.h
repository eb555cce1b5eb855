#pragma once

#include <ATen/ATen.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "model/transformer.h"
#include "train/base/weight_codec.h"
#include "train/distributed/communicator.h"

namespace predgen::train {

/// Bytes in pinned host memory, which a GPU copies asynchronously. LibTorch rounds every block
/// of such memory up to a power of two (ATen/core/CachingHostAllocator.h), up to twice what
/// was asked for, so this class uses blocks that are powers of two: it wastes less than
/// kGrain.
class PinnedBytes {
 public:
  static constexpr int64_t kGrain = int64_t{1} << 20;

  /// Copies uint8 [C]; bytes of a CPU into ordinary memory, for a build or machine without a GPU.
  explicit PinnedBytes(const at::Tensor& bytes_C);
  /// Copies to uint8 [C], on the current stream of its device; this must outlive the copy.
  void copy_to(const at::Tensor& bytes_C) const;
  int64_t size() const { return size_; }

  /// The sizes of the blocks for `num_bytes` bytes.
  static std::vector<int64_t> block_sizes(int64_t num_bytes);

 private:
  int64_t size_ = 0;
  std::vector<at::Tensor> blocks_;
};

/// The weights of every layer's linears, taken out of the model and kept as BaseConfig says: each
/// layer's are concatenated and cut into one piece per rank. (ZeRO-3 for frozen weights,
/// Rajbhandari et al. 2020: no gradients, no optimizer state.) Norms and biases stay in the model.
/// Borrows model and communicator.
class FrozenLayers : public LayerStore {
 public:
  /// Reads only this rank's part of the weights, which may be views of memory-mapped files.
  FrozenLayers(Transformer& model, const BaseConfig& config, Communicator& communicator);
  void acquire(int64_t layer) override;
  void release(int64_t layer, int64_t next) noexcept override;

  /// Bytes kept on this rank, over all layers.
  int64_t kept_bytes() const;
  /// Layers fetched so far.
  int64_t num_fetches() const { return num_fetches_; }

 private:
  struct Layer {
    std::vector<Linear*> linears;
    std::vector<std::vector<int64_t>> shapes;
    int64_t num_bytes = 0;  // of this rank's encoded piece, held in one of these two:
    at::Tensor kept_1C;
    std::optional<PinnedBytes> offloaded;  // from a GPU
  };
  /// This rank's piece, in the stored type, zero-padded at the end.
  at::Tensor own_values(const std::vector<Linear*>& linears, int64_t num_values) const;
  /// The bytes of all pieces on the device, [P,C].
  at::Tensor bytes_of(int64_t layer);
  void fetch(int64_t layer, at::Tensor& bytes_PC);
  void begin_fetch(int64_t layer);

  const std::unique_ptr<WeightCodec> codec_;
  const BaseConfig config_;
  Communicator& communicator_;
  const at::Device device_;
  const at::ScalarType type_;
  std::vector<Layer> layers_;
  /// A buffer for a layer fetched to a GPU, on a separate stream. Two alternate, so that a fetch
  /// never waits for the layer in use and at most two layers are on the GPU.
  struct Slot {
    explicit Slot(c10::DeviceType type) : fetched(type), used(type) {}
    int64_t layer = -1;
    at::Tensor bytes_PC;
    c10::Event fetched, used;
  };
  std::vector<Slot> slots_;
  std::optional<c10::Stream> stream_;
  std::exception_ptr failure_;  // of a fetch under way
  int64_t num_fetches_ = 0;
};

}  // namespace predgen::train
