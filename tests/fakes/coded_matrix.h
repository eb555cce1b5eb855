#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tensors/stored_tensors.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// A matrix in few bits near `weight` [out,in], as a file may store it: scales and offsets are
/// whole float32 numbers. With a book, a weight becomes the nearest of its values.
struct CodedMatrix {
  CodedMatrix(const at::Tensor& weight, const CodeLayout& layout_of) : layout(layout_of) {
    const int64_t out = weight.size(0), in = weight.size(1), groups = in / layout.group;
    const at::Tensor grouped = weight.to(at::kFloat).view({out, groups, layout.group});
    const at::Tensor low = grouped.amin(2, true), high = grouped.amax(2, true);
    at::Tensor scale, offset;
    if (layout.book) {
      look_up(grouped);
      return;
    }
    if (layout.has_offsets) {
      scale = (high - low) / (layout.highest - layout.lowest);
      offset = low - scale * layout.lowest;
    } else {
      scale = grouped.abs().amax(2, true) / -layout.lowest;
      offset = at::zeros_like(scale);
    }
    const at::Tensor codes =
        ((grouped - offset) / scale.clamp_min(1e-20)).round().clamp(layout.lowest, layout.highest);
    rows.codes = codes.to(at::kChar).view({out, in});
    rows.scales = scale.squeeze(2).contiguous();
    if (layout.has_offsets) rows.offsets = offset.squeeze(2).contiguous();
    values = (codes * scale + offset).view({out, in});
  }

  CodedRows read(int64_t begin, int64_t end) const {
    const auto part = [&](const at::Tensor& whole) {
      return whole.defined() ? whole.narrow(0, begin, end - begin).contiguous() : whole;
    };
    return {part(rows.codes), part(rows.scales), part(rows.offsets)};
  }

  CodeLayout layout;
  CodedRows rows;
  at::Tensor values;  // that it stands for, float32 [out,in]

 private:
  void look_up(const at::Tensor& grouped) {
    const at::Tensor book = at::tensor(at::ArrayRef<float>(*layout.book));
    const at::Tensor scale = grouped.abs().amax(2, true) / book.abs().max();
    const at::Tensor codes =
        ((grouped / scale.clamp_min(1e-20)).unsqueeze(3) - book).abs().argmin(3);
    const std::vector<int64_t> sizes{grouped.size(0), grouped.size(1) * grouped.size(2)};
    rows.codes = codes.to(at::kChar).view(sizes);
    rows.scales = scale.squeeze(2).contiguous();
    values = (scale * book.index_select(0, codes.flatten()).view(codes.sizes())).view(sizes);
  }
};

}  // namespace predgen
