#include "model/quantized_weight.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/error.h"
#include "kernels/row_tiles.h"
#include "kernels/threads/thread_team.h"
#include "model/gpu/gpu_matrix.h"
#include "model/gpu/gpu_planes.h"
#include "model/gpu/gpu_product.h"
#include "model/gpu/gpu_support.h"
#include "model/row_product.h"
#include "tensors/stored_tensors.h"

namespace predgen {
namespace {

/// Calls `visit` for rows from `begin` on in float32 on the host, about a million values at a time,
/// so that little extra memory is needed. The kernels pack rows by 64.
void for_each_rows(const at::Tensor& weight,
                   const std::function<void(int64_t begin, const at::Tensor& wide)>& visit) {
  constexpr int64_t kValues = int64_t{1} << 20, kPacked = 64;
  const int64_t num_rows = weight.size(0);
  const int64_t step = std::max<int64_t>(1, kValues / weight.size(1) / kPacked) * kPacked;
  for (int64_t begin = 0; begin < num_rows; begin += step) {
    const int64_t count = std::min(step, num_rows - begin);
    visit(begin, weight.detach().narrow(0, begin, count).cpu().to(at::kFloat).contiguous());
  }
}

void add(RowError& sum, const RowError& error) {
  sum.lost += error.lost;
  sum.total += error.total;
}

/// The sum of what `quantize(row, its values)` returns for each row, by all threads.
template <class Quantize>
RowError for_each_row(const at::Tensor& wide, const Quantize& quantize) {
  constexpr int64_t kGrain = int64_t{1} << 16;  // values of a thread
  const int64_t num_rows = wide.size(0), in = wide.size(1);
  std::vector<RowError> errors(static_cast<size_t>(num_rows));
  const float* values = wide.const_data_ptr<float>();
  parallel_ranges(num_rows, kGrain / in + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      errors[static_cast<size_t>(row)] = quantize(row, values + row * in);
    }
  });
  RowError sum;  // in row order, whatever the threads
  for (const RowError& error : errors) add(sum, error);
  return sum;
}

/// Copies the result for `num_rows` rows from `begin` on into `whole`, which is for `out` rows. Its
/// first dimension counts rows, or the groups of rows that a kernel packs together.
void put(at::Tensor& whole, const at::Tensor& part, int64_t begin, int64_t num_rows, int64_t out) {
  const int64_t rows_each = num_rows / part.size(0);
  if (!whole.defined()) {
    std::vector<int64_t> sizes = part.sizes().vec();
    sizes[0] = out / rows_each;
    whole = at::empty(sizes, part.options());
  }
  whole.narrow(0, begin / rows_each, part.size(0)).copy_(part);
}

at::Tensor with_sizes_of(const at::Tensor& input, const at::Tensor& output) {
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = output.size(-1);
  return output.view(sizes);
}

/// Whether a matrix is packed in planes, as our kernels alone take it, which a GPU may lack.
bool is_in_planes(const CodeLayout& layout, at::Device device) {
  return plane_bits(layout) > 0 && !device.is_cpu() && group_kernels(device) != nullptr;
}

double relative(const RowError& error, const std::string& name) {
  if (!std::isfinite(error.lost)) throw UserError("{}: has values that are not finite", name);
  return std::sqrt(error.lost) / std::max(std::sqrt(error.total), 1e-30);
}

}  // namespace

QuantizedWeight::QuantizedWeight(const at::Tensor& weight, Quantization kind, at::Device device,
                                 const std::string& name)
    : kind_(kind), out_(weight.size(0)), in_(weight.size(-1)) {
  PREDGEN_CHECK(weight.dim() == 2 && (kind == Quantization::kInt8 || kind == Quantization::kInt4),
                "{}: nothing to quantise", name);
  relative_error_ = relative(
      kind == Quantization::kInt8 ? make_int8(weight, device) : make_int4(weight, device, name),
      name);
}

QuantizedWeight::QuantizedWeight(const CodeLayout& layout, int64_t out, int64_t in,
                                 const CodedRowsOf& rows, at::Device device,
                                 const std::string& name)
    : kind_(Quantization::kStored), out_(out), in_(in) {
  RowError error;
  if (is_in_planes(layout, device)) {
    put_on_gpu(to_gpu_matrix(pack_planes(layout, out, in, rows, error), device));
  } else {
    GroupedMatrix matrix = pack_as_stored(layout, out, in, rows, error);
    if (device.is_cpu()) {
      grouped_ = std::move(matrix);
    } else {
      put_on_gpu(to_gpu_matrix(matrix.bits, out, matrix.words, matrix.scales, device, matrix.book));
    }
  }
  if (!std::isfinite(error.lost)) {
    throw UserError("{}: has scales that are not finite, or too large to run as stored: use bf16",
                    name);
  }
  relative_error_ = relative(error, name);
}

int64_t QuantizedWeight::stored_bytes(const CodeLayout& layout, int64_t count, at::Device device) {
  if (is_in_planes(layout, device)) return plane_bytes(layout, count);
  const int num_codes = layout.highest - layout.lowest + 1;
  return count * (num_codes <= 16 ? 4 : 8) / 8 +
         count / layout.group * (layout.has_offsets ? 4 : 2);
}

RowError QuantizedWeight::make_int8(const at::Tensor& weight, at::Device device) {
  const bool is_on_gpu = !device.is_cpu();
  std::vector<at::Tensor> words;
  RowError error;
  for_each_rows(weight, [&](int64_t begin, const at::Tensor& wide) {
    at::Tensor values = at::empty({wide.size(0), in_}, at::kChar);
    at::Tensor scales = at::empty({wide.size(0)}, is_on_gpu ? at::kHalf : at::kBFloat16);
    auto* to = values.mutable_data_ptr<int8_t>();
    auto* scale = static_cast<uint16_t*>(scales.mutable_data_ptr());
    const ScaleType type = is_on_gpu ? ScaleType::kFloat16 : ScaleType::kBfloat16;
    add(error, for_each_row(wide, [&](int64_t row, const float* w) {
          return quantize_int8_row(w, in_, type, to + row * in_, scale + row);
        }));
    put(scales_, scales, begin, wide.size(0), out_);
    if (is_on_gpu) {
      constexpr int64_t kInputs = 16;  // padded with zeros
      const at::Tensor filled =
          at::constant_pad_nd(values, {0, (kInputs - in_ % kInputs) % kInputs});
      words.push_back(pack_words((filled.to(at::kInt) + 128).to(at::kByte), 8).to(device));
    } else {
      put(values_, values, begin, wide.size(0), out_);
    }
  });
  if (is_on_gpu) {
    const at::Tensor scales = pack_scales(scales_.unsqueeze(1), {});
    put_on_gpu(to_gpu_matrix(8, out_, at::cat(words), scales, device));
    scales_ = at::Tensor();
  }
  return error;
}

RowError QuantizedWeight::make_int4(const at::Tensor& weight, at::Device device,
                                    const std::string& name) {
  const int64_t group = int4_group(out_, in_);
  if (group == 0) {
    throw UserError(
        "{}: a {} x {} matrix cannot be packed into 4 bits (inputs must be a multiple "
        "of 32, outputs of 16): use int8",
        name, out_, in_);
  }
  RowError of_range, of_zero;
  for_each_rows(weight, [&](int64_t, const at::Tensor& wide) {
    const auto error = [&](Int4Centre centre) {
      return for_each_row(wide, [&](int64_t, const float* w) {
        return quantize_int4_row(w, in_, group, centre, nullptr, nullptr);
      });
    };
    add(of_range, error(Int4Centre::kRange));
    add(of_zero, error(Int4Centre::kZero));
  });
  const bool at_zero = of_zero.lost < of_range.lost;
  const Int4Centre centre = at_zero ? Int4Centre::kZero : Int4Centre::kRange;
  at::Tensor words, scales;
  for_each_rows(weight, [&](int64_t begin, const at::Tensor& wide) {
    at::Tensor q = at::empty({wide.size(0), in_}, at::kByte);
    at::Tensor pairs = at::empty({wide.size(0), in_ / group, 2}, at::kHalf);
    auto* to = q.mutable_data_ptr<uint8_t>();
    auto* pair = static_cast<uint16_t*>(pairs.mutable_data_ptr());
    for_each_row(wide, [&](int64_t row, const float* w) {
      return quantize_int4_row(w, in_, group, centre, to + row * in_,
                               pair + row * (in_ / group * 2));
    });
    put(scales, pack_scales(pairs.select(2, 0), pairs.select(2, 1)), begin, wide.size(0), out_);
    put(words, pack_words(q, 4), begin, wide.size(0), out_);
  });
  if (device.is_cpu()) {
    grouped_ = {.bits = 4, .out = out_, .words = std::move(words), .scales = std::move(scales)};
  } else {
    put_on_gpu(to_gpu_matrix(4, out_, words, scales, device));
  }
  return at_zero ? of_zero : of_range;
}

at::Tensor QuantizedWeight::widened_product(const at::Tensor& rows, int64_t tile) const {
  if (on_gpu_) return predgen::widened_product(group_kernels(device()), *on_gpu_, rows, tile);
  constexpr int64_t kOutputs = 16384;  // of a large head, so that it never exists twice
  std::vector<at::Tensor> parts;
  if (grouped_) {
    const int64_t num_panels = grouped_->words.size(0), step = kOutputs / kGroupPanel;
    for (int64_t begin = 0; begin < num_panels; begin += step) {
      const at::Tensor wide = grouped_->panels(begin, std::min(begin + step, num_panels)).widen();
      parts.push_back(at::linear(rows, wide.narrow(1, 0, in_)));
    }
    return parts.size() == 1 ? parts[0] : at::cat(parts, -1);
  }
  for (const at::Tensor& values : values_.split(kOutputs)) {
    parts.push_back(at::linear(rows, values.to(at::kBFloat16)));
  }
  return (parts.size() == 1 ? parts[0] : at::cat(parts, -1)) * scales_;
}

at::Tensor QuantizedWeight::operator()(const at::Tensor& input, const at::Tensor& bias) const {
  const at::Tensor rows = input.reshape({-1, input.size(-1)}).to(at::kBFloat16);
  const int64_t count = rows.size(0);
  at::Tensor output;
  if (count >= 1 && count <= kMaxGpuTokens && has_gpu_product()) {
    return with_sizes_of(input, gpu_product(rows, bias, at::kBFloat16)).to(input.scalar_type());
  }
  if (grouped_ && count <= max_rows_on_cpu()) {
    output = grouped_product(rows, *grouped_);
  } else if (values_.defined() && has_int8_product(rows)) {
    output = int8_product(rows, values_, scales_);
  } else {
    output = widened_product(rows, 0);
  }
  output = with_sizes_of(input, output).to(input.scalar_type());
  return bias.defined() ? output + bias : output;
}

at::Tensor QuantizedWeight::in_tiles(const at::Tensor& input, const at::Tensor& bias,
                                     at::ScalarType type) const {
  const at::Tensor rows = input.reshape({-1, input.size(-1)}).to(at::kBFloat16);
  std::vector<at::Tensor> parts;
  if (has_gpu_product()) return with_sizes_of(input, gpu_product(rows, bias, type)).to(type);
  at::Tensor output;
  if (!on_gpu_) {
    for (const at::Tensor& few : rows.split(kFewRowsOnCpu)) parts.push_back((*this)(few));
    output = at::cat(parts);
  } else {
    output = widened_product(rows, kTileRows);
  }
  output = with_sizes_of(input, output).to(at::kFloat);
  return (bias.defined() ? output + bias : output).to(type);
}

std::pair<RowWeights, RowProduct> QuantizedWeight::row_product() const {
  PREDGEN_CHECK(is_on_cpu(), "weights on {}", on_gpu_->words.device().str());
  if (grouped_) return {grouped_->weights(), grouped_->product()};
  return {RowWeights::kInt8,
          {.weight = values_.const_data_ptr(),
           .scales = static_cast<const uint16_t*>(scales_.const_data_ptr()),
           .in = in_,
           .out = out_}};
}

at::Tensor QuantizedWeight::rows(const at::Tensor& numbers) const {
  const at::Tensor list = numbers.to(at::kCPU, at::kLong).contiguous();
  at::Tensor wide = at::empty({list.numel(), in_}, at::kFloat);
  for (int64_t i = 0; i < list.numel(); ++i) {
    widen_row(list.const_data_ptr<int64_t>()[i], wide.mutable_data_ptr<float>() + i * in_);
  }
  std::vector<int64_t> sizes = numbers.sizes().vec();
  sizes.push_back(in_);
  return wide.to(at::kBFloat16).view(sizes);
}

at::Tensor QuantizedWeight::words() const { return on_gpu_ ? on_gpu_->words : at::Tensor(); }

int QuantizedWeight::bits() const {
  if (on_gpu_) return on_gpu_->bits;
  return grouped_ ? grouped_->bits : 8;
}

int64_t QuantizedWeight::num_bytes() const {
  if (on_gpu_) return on_gpu_->num_bytes();
  const at::Tensor& values = grouped_ ? grouped_->words : values_;
  const at::Tensor& scales = grouped_ ? grouped_->scales : scales_;
  return static_cast<int64_t>(values.nbytes() + scales.nbytes());
}

QuantizedWeight::QuantizedWeight(const QuantizedWeight& like, const GpuMatrix& matrix)
    : kind_(like.kind_),
      out_(matrix.out),
      in_(like.in_),
      on_gpu_(std::make_shared<const GpuMatrix>(matrix)),
      relative_error_(like.relative_error_) {}

void QuantizedWeight::put_on_gpu(const GpuMatrix& matrix) {
  on_gpu_ = std::make_shared<const GpuMatrix>(matrix);
}

at::Device QuantizedWeight::device() const { return on_gpu_ ? on_gpu_->words.device() : at::kCPU; }

bool QuantizedWeight::has_gpu_product() const {
  return on_gpu_ && group_kernels(device()) != nullptr;
}

at::Tensor QuantizedWeight::gpu_product(const at::Tensor& rows, const at::Tensor& bias,
                                        at::ScalarType type) const {
  return multiply(*group_kernels(device()), *on_gpu_, rows, bias,
                  type == at::kFloat ? at::kFloat : at::kBFloat16);
}

std::vector<GpuMatrix> QuantizedWeight::matrices_of(
    std::span<const QuantizedWeight* const> weights) {
  std::vector<GpuMatrix> matrices;
  for (const QuantizedWeight* weight : weights) {
    if (weight == nullptr || !weight->on_gpu_) return {};
    matrices.push_back(*weight->on_gpu_);
  }
  return matrices;
}

std::vector<std::shared_ptr<const QuantizedWeight>> QuantizedWeight::in_one_piece(
    std::span<const QuantizedWeight* const> weights) {
  const GpuMatrix whole = stacked(matrices_of(weights));
  std::vector<std::shared_ptr<const QuantizedWeight>> parts;
  if (!whole.words.defined()) return parts;
  int64_t begin = 0;
  for (const QuantizedWeight* weight : weights) {
    const int64_t end = begin + weight->on_gpu_->words.size(0);
    parts.push_back(std::shared_ptr<const QuantizedWeight>(
        new QuantizedWeight(*weight, whole.panels(begin, end))));
    begin = end;
  }
  return parts;
}

std::shared_ptr<const QuantizedWeight> QuantizedWeight::whole_of(
    std::span<const QuantizedWeight* const> weights) {
  const GpuMatrix whole = predgen::whole_of(matrices_of(weights));
  if (!whole.words.defined()) return nullptr;
  return std::shared_ptr<const QuantizedWeight>(new QuantizedWeight(*weights.front(), whole));
}

}  // namespace predgen
