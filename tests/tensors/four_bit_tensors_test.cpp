#include "tensors/four_bit_tensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tensors/safetensors.h"
#include "tests/fakes/code_books.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

const std::string kName = "layer.weight", kState = kName + ".quant_state.bitsandbytes__nf4";

at::Tensor random_bytes(at::IntArrayRef sizes, uint64_t seed) {
  return (normal(sizes, seed) * 64 + 128).round().clamp(0, 255).to(at::kByte);
}

at::Tensor text(const std::string& json) {
  at::Tensor bytes = at::empty({static_cast<int64_t>(json.size())}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), json.data(), json.size());
  return bytes;
}

at::Tensor map_of(const CodeValues& values) { return at::tensor(at::ArrayRef<float>(values)); }

/// As bitsandbytes stores a matrix [out,in].
Tensors nf4(int64_t out, int64_t in, int64_t block) {
  const int64_t num_blocks = (out * in + block - 1) / block;
  return {
      {kName, random_bytes({out * in / 2, 1}, 1)},
      {kName + ".absmax", normal({num_blocks}, 2).abs()},
      {kName + ".quant_map", map_of(kNf4Values)},
      {kState, text(fmt::format(R"({{"quant_type": "nf4", "blocksize": {}, "dtype": "bfloat16", )"
                                R"("shape": [{}, {}]}})",
                                block, out, in))},
      {"norm.weight", at::ones({4})}};
}

/// The same with scales in 8 bits.
Tensors nested(int64_t out, int64_t in) {
  Tensors tensors = nf4(out, in, 64);
  const int64_t num_blocks = out * in / 64;
  tensors[kName + ".absmax"] = random_bytes({num_blocks}, 2);
  tensors[kName + ".nested_absmax"] = normal({(num_blocks + 255) / 256}, 3).abs();
  tensors[kName + ".nested_quant_map"] = at::linspace(-1, 1, 256);
  tensors[kState] = text(fmt::format(
      R"({{"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [{}, {}],)"
      R"("nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 1.25}})",
      out, in));
  return tensors;
}

class FourBitTensorsTest : public testing::Test {
 protected:
  FourBitTensors open(const Tensors& tensors) {
    write_safetensors(folder_ / "model.safetensors", tensors);
    return {std::make_unique<SafetensorsFolder>(folder_.path()), folder_.path().string()};
  }
  void expect_refused(const Tensors& tensors, const std::vector<std::string>& parts) {
    expect_user_error([&] { open(tensors); }, parts);
  }
  /// Every value by the published formula, and all ways of reading.
  void expect_values(const FourBitTensors& found, int64_t out, int64_t in,
                     const std::function<float(int64_t index)>& value) {
    at::Tensor expected = at::empty({out, in}, at::kFloat);
    for (int64_t i = 0; i < out * in; ++i) expected.mutable_data_ptr<float>()[i] = value(i);
    EXPECT_TRUE(at::equal(found.tensor(kName), expected));
    EXPECT_TRUE(at::equal(found.read_rows(kName, 1, out - 1), expected.slice(0, 1, out - 1)));
    EXPECT_EQ(found.read_rows(kName, 2, 2).sizes(), (at::IntArrayRef{0, in}));
    EXPECT_TRUE(at::equal(found.load(kName, at::kCPU, at::kBFloat16), expected.to(at::kBFloat16)));
    EXPECT_EQ(found.shape(kName).shape, (std::vector<int64_t>{out, in}));
    EXPECT_EQ(found.shape(kName).dtype, at::kFloat);
    found.forget(kName);
    EXPECT_TRUE(at::equal(found.tensor(kName), expected));
  }

  TemporaryFolder folder_;
};

TEST_F(FourBitTensorsTest, Nf4IsOneMatrix) {
  // Blocks that rows are whole numbers of, whose ends lie in rows, and that are larger than rows.
  for (const auto& [out, in, block, group] : {std::tuple{5, 128, 64, 64},
                                              {6, 96, 64, 32},
                                              {7, 64, 256, 64},
                                              {3, 1024, 512, 256},
                                              {4, 80, 64, 16},
                                              {5, 100, 64, 4}}) {
    SCOPED_TRACE(fmt::format("{} x {} by {}", out, in, block));
    const Tensors tensors = nf4(out, in, block);
    const FourBitTensors found = open(tensors);
    EXPECT_EQ(found.names(), (std::vector<std::string>{"norm.weight", kName}));
    EXPECT_TRUE(found.contains(kName));
    EXPECT_FALSE(found.contains(kState));
    EXPECT_FALSE(found.code_layout("norm.weight").has_value());
    EXPECT_TRUE(at::equal(found.tensor("norm.weight"), at::ones({4})));
    const auto* bytes = tensors.at(kName).const_data_ptr<uint8_t>();
    const auto* scales = tensors.at(kName + ".absmax").const_data_ptr<float>();
    expect_values(found, out, in, [&, block = block](int64_t i) {
      return kNf4Values[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15] * scales[i / block];
    });
    ASSERT_EQ(found.code_layout(kName).has_value(), group >= 16);
    if (group < 16) continue;
    EXPECT_EQ(found.code_layout(kName)->group, group);
    EXPECT_EQ(found.code_layout(kName)->book, kNf4Values);
  }
}

TEST_F(FourBitTensorsTest, ScalesMayBeInEightBits) {
  const Tensors tensors = nested(40, 832);  // 520 blocks: three of scales
  const auto* bytes = tensors.at(kName).const_data_ptr<uint8_t>();
  const auto* codes = tensors.at(kName + ".absmax").const_data_ptr<uint8_t>();
  const auto* map = tensors.at(kName + ".nested_quant_map").const_data_ptr<float>();
  const auto* outer = tensors.at(kName + ".nested_absmax").const_data_ptr<float>();
  expect_values(open(tensors), 40, 832, [&](int64_t i) {
    const float scale = map[codes[i / 64]] * outer[i / 64 / 256] + 1.25f;
    return kNf4Values[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15] * scale;
  });
}

TEST_F(FourBitTensorsTest, BytesMayLieInTensorsOfAnyType) {
  Tensors tensors = nf4(6, 128, 64);
  const at::Tensor expected = open(tensors).tensor(kName);
  tensors[kName] = tensors[kName].flatten().view(at::kBFloat16).view({-1, 1});
  EXPECT_TRUE(at::equal(open(tensors).tensor(kName), expected));
}

TEST_F(FourBitTensorsTest, Mxfp4IsOneMatrix) {
  const int64_t out = 6, groups = 3, in = 32 * groups;
  at::Tensor exponents = random_bytes({out, groups}, 2);
  exponents[0][0] = 0;
  const Tensors tensors{{kName + "_blocks", random_bytes({out, groups, 16}, 1)},
                        {kName + "_scales", exponents}};
  const FourBitTensors found = open(tensors);
  EXPECT_EQ(found.names(), (std::vector<std::string>{kName}));
  const auto* bytes = tensors.at(kName + "_blocks").const_data_ptr<uint8_t>();
  constexpr float kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  expect_values(found, out, in, [&](int64_t i) {
    const float value = kValues[i % 2 == 0 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
    return std::ldexp(value, exponents.const_data_ptr<uint8_t>()[i / 32] - 127);
  });
  EXPECT_EQ(found.code_layout(kName)->book, kDoubledFp4);
  EXPECT_TRUE(found.code_layout(kName)->has_exponents);
}

TEST_F(FourBitTensorsTest, RefusesPartsThatDoNotFitTogether) {
  const auto without = [](Tensors tensors, const std::string& name) {
    tensors.erase(name);
    return tensors;
  };
  const auto with = [](Tensors tensors, const std::string& name, const at::Tensor& tensor) {
    tensors[name] = tensor;
    return tensors;
  };
  const Tensors whole = nf4(4, 128, 64), deep = nested(4, 128);
  expect_refused(without(whole, kName), {kName, "missing"});
  expect_refused(without(whole, kName + ".absmax"), {kName, "absmax", "missing"});
  expect_refused(without(whole, kName + ".quant_map"), {kName, "quant_map", "missing"});
  expect_refused(with(whole, kName + ".absmax", at::ones({7})), {kName, "absmax", "8 values"});
  expect_refused(with(whole, kName + ".quant_map", at::full({16}, HUGE_VAL)), {"not finite"});
  expect_refused(with(whole, kName + ".quant_map", at::ones({16}, at::kByte)), {"must be F32"});
  expect_refused(with(whole, kName, at::zeros({255, 1}, at::kByte)), {kName, "255 bytes"});
  expect_refused(with(whole, kState, text("{")), {kName, "JSON"});
  expect_refused(with(whole, kState, text(R"({"shape": [4, 128]})")), {"blocksize"});
  expect_refused(with(whole, kState, text(R"({"blocksize": 0, "shape": [4, 128]})")),
                 {"blocksize", "0"});
  expect_refused(
      with(whole, kState, text(R"({"blocksize": 64, "shape": [4611686018427387904, 8]})")),
      {kName, "4611686018427387904"});
  expect_refused(
      with(without(whole, kState), kName + ".quant_state.bitsandbytes__int3", text("{}")),
      {"int3", "nf4 and fp4"});
  expect_refused(without(deep, kName + ".nested_absmax"), {kName, "nested_absmax"});
  expect_refused(with(deep, kName + ".nested_quant_map", at::ones({255})), {"nested_quant_map"});
  expect_refused(
      {{"w_blocks", at::zeros({2, 3, 16}, at::kByte)}, {"w_scales", at::zeros({2, 2}, at::kByte)}},
      {"w_scales", "w_blocks"});
}

}  // namespace
}  // namespace predgen
