#include "train/base/weight_codec.h"

#include <algorithm>

#include "core/error.h"

namespace predgen::train {
namespace {

// Shapes: B blocks of a piece, G groups of blocks, W values of a block.

/// Joins parts of different types to one string of bytes.
at::Tensor join(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> bytes;
  for (const at::Tensor& part : parts) bytes.push_back(part.contiguous().view(at::kByte).flatten());
  return at::cat(bytes);
}

/// Takes parts off the front of [P,C], each as [P,..] of its type.
class Parts {
 public:
  explicit Parts(const at::Tensor& bytes_PC) : bytes_PC_(bytes_PC) {}

  at::Tensor take(int64_t num_values, at::ScalarType type) {
    const int64_t size = num_values * static_cast<int64_t>(c10::elementSize(type));
    const at::Tensor part = bytes_PC_.narrow(1, begin_, size).contiguous();
    begin_ += size;
    return part.view(type);
  }

 private:
  const at::Tensor bytes_PC_;
  int64_t begin_ = 0;
};

class FullCodec : public WeightCodec {
 public:
  explicit FullCodec(at::ScalarType type) : type_(type) {}
  int64_t granule() const override { return 1; }
  at::Tensor encode(const at::Tensor& values_N) const override {
    return join({values_N.to(type_)});
  }
  at::Tensor decode(const at::Tensor& bytes_PC, at::ScalarType) const override {
    return bytes_PC.view(type_).flatten();
  }

 private:
  const at::ScalarType type_;
};

/// Splits [N] into blocks of `width` and returns the largest magnitude of each.
std::pair<at::Tensor, at::Tensor> blocks_of(const at::Tensor& values_N, int64_t width) {
  const at::Tensor blocks_BW = values_N.to(at::kFloat).view({-1, width});
  return {blocks_BW, blocks_BW.abs().amax(1, true)};
}

/// Replaces a scale of zero: its block holds only zeros, for which any divisor will do.
at::Tensor divisor(const at::Tensor& scale) { return at::where(scale == 0, 1.0F, scale); }

/// Values decoded at a time: a slice's temporaries take several times its result.
constexpr int64_t kSliceValues = 16 << 20;

class Int8Codec : public WeightCodec {
 public:
  int64_t granule() const override { return kWidth; }
  at::Tensor encode(const at::Tensor& values_N) const override {
    const auto [blocks_BW, largest_B1] = blocks_of(values_N, kWidth);
    const at::Tensor scale_B1 = largest_B1 / 127;
    return join({(blocks_BW / divisor(scale_B1)).round().to(at::kChar), scale_B1});
  }
  at::Tensor decode(const at::Tensor& bytes_PC, at::ScalarType type) const override {
    const int64_t num_blocks = bytes_PC.size(1) / kBlockBytes;
    Parts parts(bytes_PC);
    const at::Tensor codes = parts.take(num_blocks * kWidth, at::kChar).view({-1, kWidth});
    const at::Tensor scales = parts.take(num_blocks, at::kFloat).view({-1, 1});
    const at::Tensor values = at::empty(codes.sizes(), codes.options().dtype(type));
    for (int64_t begin = 0; begin < codes.size(0); begin += kSliceValues / kWidth) {
      const int64_t size = std::min(kSliceValues / kWidth, codes.size(0) - begin);
      values.narrow(0, begin, size)
          .copy_(codes.narrow(0, begin, size) * scales.narrow(0, begin, size));
    }
    return values.flatten();
  }

  static constexpr int64_t kWidth = 128, kBlockBytes = kWidth + 4;
};

class Nf4Codec : public WeightCodec {
 public:
  int64_t granule() const override { return kWidth * kGroup; }

  at::Tensor encode(const at::Tensor& values_N) const override {
    const auto [blocks_BW, largest_B1] = blocks_of(values_N, kWidth);
    // Evenly spaced logarithms: a block next to one with outliers loses no precision. A scale far
    // below its group's largest, or 0, is kept as the lowest one.
    const at::Tensor scales_GB = largest_B1.view({-1, kGroup});
    const at::Tensor high_G1 = scales_GB.amax(1, true);
    const at::Tensor logs_GB = at::maximum(scales_GB, divisor(high_G1) * kLowestScale).log();
    const at::Tensor low_G1 = logs_GB.amin(1, true);
    const at::Tensor unit_G1 = (logs_GB.amax(1, true) - low_G1) / 255;
    const at::Tensor codes_GB = ((logs_GB - low_G1) / divisor(unit_G1)).round();
    // Relative to the scales that decoding will use. A block's exact scale would round no better.
    const at::Tensor kept_B1 = (codes_GB * unit_G1 + low_G1).exp().view({-1, 1});
    const at::Tensor book = nf4_code_book().to(values_N.device());
    const at::Tensor middles = (book.narrow(0, 0, 15) + book.narrow(0, 1, 15)) / 2;
    const at::Tensor codes =
        at::bucketize(blocks_BW / kept_B1, middles, /*out_int32=*/true).to(at::kByte);
    const at::Tensor pairs = codes.view({-1, 2});
    return join(
        {pairs.select(1, 0) * 16 + pairs.select(1, 1), codes_GB.to(at::kByte), low_G1, unit_G1});
  }

  at::Tensor decode(const at::Tensor& bytes_PC, at::ScalarType type) const override {
    const int64_t num_groups = bytes_PC.size(1) / kGroupBytes;
    PREDGEN_CHECK(num_groups * kGroupBytes == bytes_PC.size(1), "{} bytes are no whole groups",
                  bytes_PC.size(1));
    Parts parts(bytes_PC);
    const at::Tensor pairs = parts.take(num_groups * kGroup * kWidth / 2, at::kByte);
    const at::Tensor codes_GB = parts.take(num_groups * kGroup, at::kByte).view({-1, kGroup});
    const at::Tensor low_G1 = parts.take(num_groups, at::kFloat).view({-1, 1});
    const at::Tensor unit_G1 = parts.take(num_groups, at::kFloat).view({-1, 1});
    const at::Tensor pairs_BW = pairs.view({-1, kWidth / 2});
    const at::Tensor scales_B1 = (codes_GB * unit_G1 + low_G1).exp().to(type).view({-1, 1});
    const at::Tensor& book_P2 = pairs_on(bytes_PC.device(), type);
    const at::Tensor values = at::empty({scales_B1.size(0), kWidth}, scales_B1.options());
    for (int64_t begin = 0; begin < values.size(0); begin += kSliceValues / kWidth) {
      const int64_t size = std::min(kSliceValues / kWidth, values.size(0) - begin);
      at::Tensor chosen_N2 = values.narrow(0, begin, size).view({-1, 2});
      at::index_select_out(chosen_N2, book_P2, 0,
                           pairs_BW.narrow(0, begin, size).flatten().to(at::kInt));
    }
    return values.mul_(scales_B1).flatten();
  }

  static constexpr int64_t kWidth = 64, kGroup = 256;
  static constexpr double kLowestScale = 1.0 / (1 << 16);
  static constexpr int64_t kGroupBytes = kWidth * kGroup / 2 + kGroup + 8;

 private:
  /// Both values of each byte, [256,2]. Made once: a copy to a GPU waits for all queued work.
  const at::Tensor& pairs_on(at::Device device, at::ScalarType type) const {
    if (!book_.defined() || book_.device() != device || book_.scalar_type() != type) {
      const at::Tensor book = nf4_code_book();
      book_ = at::stack({book.repeat_interleave(16), book.repeat({16})}, 1).to(device, type);
    }
    return book_;
  }

  mutable at::Tensor book_;
};

}  // namespace

const std::vector<std::pair<std::string, BaseWeights>>& base_weights_kinds() {
  static const std::vector<std::pair<std::string, BaseWeights>> kinds{
      {"full", BaseWeights::kFull}, {"int8", BaseWeights::kInt8}, {"nf4", BaseWeights::kNf4}};
  return kinds;
}

std::unique_ptr<WeightCodec> make_codec(BaseWeights kind, at::ScalarType full_type) {
  switch (kind) {
    case BaseWeights::kFull:
      return std::make_unique<FullCodec>(full_type);
    case BaseWeights::kInt8:
      return std::make_unique<Int8Codec>();
    case BaseWeights::kNf4:
      return std::make_unique<Nf4Codec>();
  }
  throw Error("unknown weights of a base");
}

int64_t encoded_bytes(BaseWeights kind, int64_t num_values, int64_t full_size) {
  const auto blocks = [&](int64_t width) { return (num_values + width - 1) / width; };
  switch (kind) {
    case BaseWeights::kFull:
      return num_values * full_size;
    case BaseWeights::kInt8:
      return blocks(Int8Codec::kWidth) * Int8Codec::kBlockBytes;
    case BaseWeights::kNf4:
      return blocks(Nf4Codec::kWidth * Nf4Codec::kGroup) * Nf4Codec::kGroupBytes;
  }
  throw Error("unknown weights of a base");
}

int64_t encoding_bytes(BaseWeights kind, int64_t size) {
  switch (kind) {
    case BaseWeights::kFull:
      return size;
    case BaseWeights::kInt8:
      return size + 3 * 4 + 1;  // float32 values, quotients, rounded; codes
    case BaseWeights::kNf4:
      return size + 3 * 4;  // float32 values, quotients; codes of 32 bits
  }
  throw Error("unknown weights of a base");
}

int64_t decoding_bytes(BaseWeights kind, int64_t num_values, int64_t size) {
  const int64_t slice = std::min(num_values, kSliceValues);
  switch (kind) {
    case BaseWeights::kFull:
      return 0;  // a view
    case BaseWeights::kInt8:
      return num_values * size + slice * 4;  // float32 products
    case BaseWeights::kNf4:
      return num_values * size + slice / 2 * 4;  // pairs of codes of 32 bits
  }
  throw Error("unknown weights of a base");
}

at::Tensor nf4_code_book() {
  return at::tensor({-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
                     -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
                     0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F,
                     0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
                     0.7229568362236023F, 1.0F});
}

}  // namespace predgen::train
