#include "model/quantization.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "model/model_config.h"

namespace predgen {

Quantization parse_quantization(const std::string& name) {
  if (name == "none") return Quantization::kNone;
  if (name == "int8") return Quantization::kInt8;
  if (name == "int4") return Quantization::kInt4;
  if (name == "stored") return Quantization::kStored;
  throw UserError("quantisation \"{}\": must be none, int8, int4 or stored", name);
}

namespace {

/// Whether it is a layer's linear, by the end of its name. The products that a delta net's decays
/// are made of are small, and stay as they are.
bool is_linear(std::string_view weight_name) {
  constexpr std::string_view kEnds[] = {"_proj.weight", ".in_proj_qkv.weight", ".in_proj_z.weight",
                                        ".w1.weight",   ".w2.weight",          ".w3.weight"};
  const auto ends = [&](std::string_view end) { return weight_name.ends_with(end); };
  return std::ranges::any_of(kEnds, ends);
}

}  // namespace

Quantization quantization_of(const std::string& weight_name, Quantization asked) {
  if (asked == Quantization::kStored) return Quantization::kNone;
  if (is_linear(weight_name)) return asked;
  const bool is_head = weight_name == kHeadName && asked != Quantization::kNone;
  return is_head ? Quantization::kInt8 : Quantization::kNone;
}

int64_t int4_group(int64_t out, int64_t in) {
  for (const int64_t group : {128, 64, 32}) {
    if (in % group == 0 && out % 16 == 0) return group;
  }
  return 0;
}

int64_t quantized_bytes(int64_t out, int64_t in, Quantization kind) {
  if (kind == Quantization::kInt8) return out * in + 2 * out;
  const int64_t group = int4_group(out, in);
  return group == 0 ? 2 * out * in : out * in / 2 + 2 * 2 * out * (in / group);
}

}  // namespace predgen
