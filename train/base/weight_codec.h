#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace predgen::train {

/// How frozen weights are kept: in the type that the model runs in, or in fewer bits.
enum class BaseWeights { kFull, kInt8, kNf4 };

const std::vector<std::pair<std::string, BaseWeights>>& base_weights_kinds();

// Shapes: P pieces, N values of a piece, C bytes of a piece.

/// Weights as strings of bytes. Used by one thread.
class WeightCodec {
 public:
  virtual ~WeightCodec() = default;
  /// N is a multiple of this.
  virtual int64_t granule() const = 0;
  /// Encodes [N] of any floating type to uint8 [C], on the same device.
  virtual at::Tensor encode(const at::Tensor& values_N) const = 0;
  /// Decodes pieces of the same N, uint8 [P,C], to their concatenated values, [P*N]; of fewer bits
  /// in `type`.
  virtual at::Tensor decode(const at::Tensor& bytes_PC, at::ScalarType type) const = 0;
};

/// kFull: in `full_type`. kInt8: 8 bits and a float32 scale per 128 values.
/// kNf4: 4-bit NormalFloat of blocks of 64 values, whose scales are kept in 8 bits by groups of 256
/// (Dettmers et al. 2023, QLoRA, section 3): 4.13 bits a value. Unlike in the paper, the 8 bits
/// encode the scales' logarithms, from the lowest of a group to its highest.
std::unique_ptr<WeightCodec> make_codec(BaseWeights kind, at::ScalarType full_type);

/// Bytes of a piece of `num_values` >= 1 values; `full_size`: bytes per value with kFull.
int64_t encoded_bytes(BaseWeights kind, int64_t num_values, int64_t full_size);
/// Peak bytes per value while encoding, including the input values of `size` bytes.
int64_t encoding_bytes(BaseWeights kind, int64_t size);
/// Peak bytes while decoding a layer to values of `size` bytes, including the result.
int64_t decoding_bytes(BaseWeights kind, int64_t num_values, int64_t size);

/// The 16 values of NormalFloat4, float32 [16].
at::Tensor nf4_code_book();

/// How and where a run keeps the frozen weights of the layers.
struct BaseConfig {
  BaseWeights weights = BaseWeights::kFull;
  bool shard = false;    // a rank holds 1/N of each layer, gathered on use
  bool offload = false;  // in host memory, copied to the device on use

  /// Whether the layers are always in the model, whole and in the model's type.
  bool is_resident() const { return weights == BaseWeights::kFull && !shard && !offload; }
};

}  // namespace predgen::train
