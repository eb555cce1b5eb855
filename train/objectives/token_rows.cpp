#include "train/objectives/token_rows.h"

#include <algorithm>

#include "core/error.h"

namespace predgen::train {
namespace {

at::Tensor pad_rows(const std::vector<TokenIds>& rows) {
  size_t width = 0;
  for (const TokenIds& row : rows) width = std::max(width, row.size());
  const at::Tensor tokens_RT =
      at::zeros({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)}, at::kLong);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i], tokens_RT.mutable_data_ptr<int64_t>() + i * width);
  }
  return tokens_RT;
}

}  // namespace

Transformer::Rows read_rows(const Transformer& model, const std::vector<TokenIds>& rows,
                            const std::vector<std::vector<Segment>>& segments, bool gates_adapter) {
  const at::Tensor tokens_RT = pad_rows(rows);
  if (std::ranges::all_of(segments, [](const auto& of_row) { return of_row.empty(); })) {
    return model.read_rows(tokens_RT, {}, {});
  }
  const int64_t R = tokens_RT.size(0), T = tokens_RT.size(1);
  const at::Tensor positions_RT = at::arange(T, at::kLong).repeat({R, 1});
  const at::Tensor seen_RTT = at::ones({T, T}, at::kBool).tril().repeat({R, 1, 1});
  const at::Tensor gate_RT1 = at::zeros({R, T, 1});
  for (int64_t row = 0; row < R; ++row) {
    for (const Segment& segment : segments[static_cast<size_t>(row)]) {
      positions_RT[row].narrow(0, segment.begin, segment.size) -= segment.begin - segment.place;
      seen_RTT[row]
          .narrow(0, segment.begin, segment.size)
          .narrow(1, segment.place, segment.begin - segment.place)
          .fill_(false);
      gate_RT1[row].narrow(0, segment.begin, segment.size).fill_(1);
    }
  }
  Transformer::Rows read = model.read_rows(tokens_RT, positions_RT.to(model.device()),
                                           seen_RTT.unsqueeze(1).to(model.device()));
  if (gates_adapter) read.gate_BT1 = gate_RT1.to(model.device());
  return read;
}

at::Tensor flat_positions(const std::vector<RowPosition>& positions, int64_t width,
                          at::Device device) {
  std::vector<int64_t> flat;
  flat.reserve(positions.size());
  for (const RowPosition& position : positions) {
    PREDGEN_CHECK(position.column >= 0 && position.column < width, "position {} of {}",
                  position.column, width);
    flat.push_back(position.row * width + position.column);
  }
  return at::tensor(flat, at::kLong).to(device);
}

}  // namespace predgen::train
