#include "model/attention_masks.h"

#include <limits>
#include <vector>

namespace predgen {

AttentionMasks::AttentionMasks(const at::Tensor& given, const at::Tensor& positions_BS,
                               int64_t num_new, int64_t past, int64_t num_folded,
                               const at::TensorOptions& options)
    : given_(given),
      positions_BS_(positions_BS),
      num_new_(num_new),
      past_(past),
      num_folded_(num_folded),
      options_(options) {}

const at::Tensor& AttentionMasks::operator()(int64_t window) {
  const bool slides = window > 0 && past_ + num_new_ > window;
  const auto [place, is_new] = masks_.try_emplace(slides ? window : 0);
  if (!is_new) return place->second;
  at::Tensor mask = make(slides ? window : 0);
  if (mask.defined() && num_folded_ > 1) {
    std::vector<int64_t> times(static_cast<size_t>(mask.dim()), 1);
    times[times.size() - 2] = num_folded_;
    mask = mask.repeat(times);
  }
  if (!mask.defined()) return place->second;
  const int64_t count = mask.size(-1);
  std::vector<int64_t> sizes = mask.sizes().vec();
  sizes.back() = mask_row_stride(count);
  return place->second =
             at::zeros(sizes, options_)
                 .narrow(-1, 0, count)
                 .masked_fill_(mask.logical_not(), -std::numeric_limits<double>::infinity());
}

at::Tensor AttentionMasks::make(int64_t window) const {
  const bool plain = num_new_ == 1 || past_ == 0;
  if (window == 0 && (given_.defined() || plain)) return given_;
  if (positions_BS_.defined()) {
    const at::Tensor queries_BT = positions_BS_.narrow(1, past_, num_new_);
    const at::Tensor distance_BTS = queries_BT.unsqueeze(2) - positions_BS_.unsqueeze(1);
    return given_ & (distance_BTS < window).unsqueeze(1);
  }
  at::Tensor seen_TS =
      at::ones({num_new_, past_ + num_new_}, options_.dtype(at::kBool)).tril(past_);
  if (window > 0) seen_TS = seen_TS.triu(past_ + 1 - window);
  return given_.defined() ? given_ & seen_TS : seen_TS;
}

}  // namespace predgen
