// find_mxfp4() of tensors/four_bit_matrix.h.

#include "core/error.h"
#include "tensors/four_bit_matrix.h"
#include "tensors/gguf_blocks.h"

namespace predgen {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr int64_t kGroup = 32;

}  // namespace

FourBitMatrices find_mxfp4(const StoredTensors& stored, const std::string& where) {
  FourBitMatrices found;
  for (const std::string& blocks : stored.names()) {
    if (!blocks.ends_with(kBlocks)) continue;
    const std::string name = blocks.substr(0, blocks.size() - kBlocks.size());
    const std::string scales = name + std::string(kScales);
    const TensorShape shape = stored.shape(blocks);
    if (!stored.contains(scales) || shape.dtype != at::kByte || shape.shape.size() < 3 ||
        shape.shape.size() > 4 || shape.shape.back() != kGroup / 2) {
      continue;
    }
    const int64_t groups = shape.shape[shape.shape.size() - 2];
    const std::vector<int64_t> by_group(shape.shape.begin(), shape.shape.end() - 1);
    const TensorShape exponents = stored.shape(scales);
    if (exponents.dtype != at::kByte || exponents.shape != by_group || groups < 1) {
      throw UserError("{}: tensor {} is {} of {}, which is none for {} of {}", where, scales,
                      at::toString(exponents.dtype), c10::str(at::IntArrayRef(exponents.shape)),
                      blocks, c10::str(at::IntArrayRef(shape.shape)));
    }
    const auto read = [&stored, blocks, scales, groups](int64_t begin, int64_t end) {
      const auto rows_of = [&](const std::string& part, int64_t width) {
        return stored.tensor(part).view({-1, width}).slice(0, begin, end);
      };
      const at::Tensor stored_exponents = rows_of(scales, groups);
      CodedRows rows{codes_of_bytes(rows_of(blocks, groups * (kGroup / 2)), /*is_low_first=*/true,
                                    end - begin, groups * kGroup),
                     at::empty({end - begin, groups}, at::kFloat),
                     {}};
      const auto* from = stored_exponents.const_data_ptr<uint8_t>();
      auto* to = rows.scales.mutable_data_ptr<float>();
      for (int64_t i = 0; i < rows.scales.numel(); ++i) to[i] = half_of_e8m0(from[i]);
      return rows;
    };
    const CodeLayout layout{
        .group = kGroup, .lowest = 0, .highest = 15, .has_offsets = false, .book = kDoubledFp4};
    std::vector<int64_t> whole = by_group;
    whole.back() = groups * kGroup;
    found.emplace(
        name,
        FourBitMatrix{.shape = whole, .layout = layout, .parts = {blocks, scales}, .read = read});
  }
  return found;
}

}  // namespace predgen
