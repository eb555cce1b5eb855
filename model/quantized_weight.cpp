#include "model/quantized_weight.h"

#include "core/error.h"

namespace predgen {
namespace {

constexpr int64_t kFewRows = 16;

/// 4-bit values q in [0,15] with W ~ (q - 8) * scale + offset, by groups [out,groups,group].
struct Grouped {
  at::Tensor q, scale, offset;
  double error = 0.0;  // squared
};

Grouped group_values(const at::Tensor& groups, const at::Tensor& scale, const at::Tensor& offset) {
  // The kernels hold scale and offset in bfloat16: what is rounded to must be what is used.
  Grouped result;
  result.scale = scale.clamp_min(1e-8).to(at::kBFloat16).to(at::kFloat);
  result.offset = offset.to(at::kBFloat16).to(at::kFloat);
  result.q = ((groups - result.offset) / result.scale).round().add(8).clamp(0, 15);
  const at::Tensor back = (result.q - 8) * result.scale + result.offset;
  result.error = (back - groups).square().sum().item<double>();
  return result;
}

}  // namespace

Quantization parse_quantization(const std::string& name) {
  if (name == "none") return Quantization::kNone;
  if (name == "int8") return Quantization::kInt8;
  if (name == "int4") return Quantization::kInt4;
  throw UserError("quantisation \"{}\": must be none, int8 or int4", name);
}

QuantizedWeight::QuantizedWeight(const at::Tensor& weight, Quantization kind, at::Device device,
                                 const std::string& name)
    : kind_(kind) {
  PREDGEN_CHECK(weight.dim() == 2 && kind != Quantization::kNone, "{}: nothing to quantise", name);
  const at::Tensor wide = weight.detach().to(device, at::kFloat);
  if (kind == Quantization::kInt8) {
    make_int8(wide);
  } else {
    make_int4(wide, name);
  }
}

void QuantizedWeight::make_int8(const at::Tensor& wide) {
  scales_ = (wide.abs().amax(1) / 127).clamp_min(1e-8).to(at::kBFloat16);
  const at::Tensor scale = scales_.to(at::kFloat).unsqueeze(1);
  values_ = (wide / scale).round().clamp(-127, 127).to(at::kChar);
  const at::Tensor difference = values_.to(at::kFloat) * scale - wide;
  relative_error_ = (difference.norm() / wide.norm().clamp_min(1e-30)).item<double>();
}

void QuantizedWeight::make_int4(const at::Tensor& wide, const std::string& name) {
  const int64_t out = wide.size(0), in = wide.size(1);
  for (const int64_t group : {128, 64, 32}) {
    if (group_ == 0 && in % group == 0) group_ = group;
  }
  if (group_ == 0 || out % 16 != 0) {
    throw UserError("{}: a {} x {} matrix cannot be packed into 4 bits (inputs must be a multiple "
                    "of 32, outputs of 16): use int8", name, out, in);
  }
  const at::Tensor groups = wide.view({out, in / group_, group_});
  const at::Tensor low = groups.amin(-1, true), high = groups.amax(-1, true);
  const at::Tensor around_range = (high - low) / 15;
  Grouped best = group_values(groups, around_range, low + 8 * around_range);
  const at::Tensor around_zero = groups.abs().amax(-1, true) / 7.5;
  if (Grouped centred = group_values(groups, around_zero, at::zeros_like(low));
      centred.error < best.error) {
    best = std::move(centred);
  }
  relative_error_ =
      std::sqrt(best.error) / wide.norm().clamp_min(1e-30).item<double>();
  scales_ = at::cat({best.scale, best.offset}, -1).transpose(0, 1).contiguous().to(at::kBFloat16);
  const at::Tensor q = best.q.view({out, in}).to(at::kInt);
  if (wide.is_cuda()) {
    const at::Tensor even = q.slice(1, 0, in, 2), odd = q.slice(1, 1, in, 2);
    values_ = at::_convert_weight_to_int4pack((even * 16 + odd).to(at::kByte).contiguous(), 8);
  } else {
    values_ = at::_convert_weight_to_int4pack_for_cpu(q.contiguous(), 1);
  }
}

at::Tensor QuantizedWeight::operator()(const at::Tensor& input) const {
  const at::Tensor rows = input.reshape({-1, input.size(-1)}).to(at::kBFloat16);
  at::Tensor output;
  if (kind_ == Quantization::kInt4) {
    output = rows.is_cuda() ? at::_weight_int4pack_mm(rows, values_, group_, scales_)
                            : at::_weight_int4pack_mm_for_cpu(rows, values_, group_, scales_);
  } else if (rows.size(0) <= kFewRows) {
    output = at::_weight_int8pack_mm(rows, values_, scales_);
  } else {
    output = at::linear(rows, values_.to(at::kBFloat16)) * scales_;
  }
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = output.size(-1);
  return output.view(sizes).to(input.scalar_type());
}

int64_t QuantizedWeight::num_bytes() const {
  return static_cast<int64_t>(values_.nbytes() + scales_.nbytes());
}

}  // namespace predgen
