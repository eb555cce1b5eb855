#include "tensors/stored_tensors.h"

#include "core/error.h"

namespace predgen {

at::Tensor widen(const CodedRows& rows, const CodeLayout& layout) {
  const std::vector<int64_t> by_group{rows.codes.size(0), rows.scales.size(1), layout.group};
  at::Tensor values;
  if (layout.book) {
    const at::Tensor book = at::tensor(at::ArrayRef<float>(*layout.book));
    values = book.index_select(0, rows.codes.flatten().to(at::kInt));
  } else {
    values = rows.codes.to(at::kFloat);
  }
  values = rows.scales.unsqueeze(2) * values.view(by_group);
  if (layout.has_offsets) values = values + rows.offsets.unsqueeze(2);
  return values.view(rows.codes.sizes());
}

std::optional<CodeLayout> StoredTensors::code_layout(const std::string&) const {
  return std::nullopt;
}

CodedRows StoredTensors::read_codes(const std::string& name, int64_t, int64_t) const {
  throw Error("{} is not stored in few bits", name);
}

}  // namespace predgen
