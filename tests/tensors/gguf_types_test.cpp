#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tensors/gguf_blocks.h"
#include "tests/fakes/code_books.h"

namespace predgen {
namespace {

const GgufType& type_named(std::string_view name) {
  for (const GgufType& type : gguf_types()) {
    if (type.name == name) return type;
  }
  throw std::runtime_error("no such type");
}

struct Unpacked {
  std::vector<int> codes;
  std::vector<float> scales, offsets;
};

Unpacked unpack(std::string_view name, const std::vector<uint8_t>& blocks) {
  const GgufType& type = type_named(name);
  const int64_t num_blocks = static_cast<int64_t>(blocks.size()) / type.block_bytes;
  EXPECT_EQ(static_cast<int64_t>(blocks.size()), num_blocks * type.block_bytes);
  std::vector<int8_t> codes(num_blocks * type.block_values);
  std::vector<float> scales(codes.size() / type.layout.group), offsets(scales.size());
  type.unpack(blocks.data(), num_blocks, codes.data(), scales.data(), offsets.data());
  return {{codes.begin(), codes.end()}, scales, offsets};
}

/// float16 of a few numbers, low byte first.
const std::vector<uint8_t> kOne = {0x00, 0x3C}, kMinusTwo = {0x00, 0xC0}, kHalf = {0x00, 0x38},
                           kTiny = {0x01, 0x00};

std::vector<uint8_t> joined_bytes(const std::vector<std::vector<uint8_t>>& parts) {
  std::vector<uint8_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// 0x10, 0x32, 0x54 .. : the low bits count 0, 2, 4 .., the high bits 1, 3, 5 ..
std::vector<uint8_t> counting_nibbles(int num_bytes) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < num_bytes; ++i)
    bytes.push_back(static_cast<uint8_t>((2 * i) % 16 | (2 * i + 1) % 16 << 4));
  return bytes;
}

TEST(GgufTypes, HaveTheNumbersOfGgml) {
  EXPECT_EQ(gguf_types().size(), 16u);
  std::set<uint32_t> numbers;
  for (const GgufType& type : gguf_types()) {
    numbers.insert(type.number);
    EXPECT_EQ(gguf_type_name(type.number), type.name);
    EXPECT_EQ(find_gguf_type(type.number), &type);
    if (type.is_plain()) continue;
    EXPECT_EQ(type.block_values % type.layout.group, 0) << type.name;
    EXPECT_LT(type.layout.lowest, type.layout.highest) << type.name;
  }
  EXPECT_EQ(numbers, (std::set<uint32_t>{0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 20, 23, 30, 39}));
  EXPECT_EQ(find_gguf_type(16), nullptr);
  EXPECT_EQ(gguf_type_name(16), "IQ2_XXS");
  EXPECT_EQ(gguf_type_name(39), "MXFP4");
  EXPECT_EQ(gguf_type_name(43), "");
  EXPECT_EQ(gguf_type_name(UINT32_MAX), "");
}

TEST(GgufTypes, Q4_0) {
  const Unpacked found = unpack("Q4_0", joined_bytes({kMinusTwo, counting_nibbles(16),  //
                                                      kTiny, std::vector<uint8_t>(16, 0xF0)}));
  const std::vector<int> even = {-8, -6, -4, -2, 0, 2, 4, 6}, odd = {-7, -5, -3, -1, 1, 3, 5, 7};
  std::vector<int> expected;
  for (const auto& half : {even, even, odd, odd}) {
    expected.insert(expected.end(), half.begin(), half.end());
  }
  expected.insert(expected.end(), 16, -8);
  expected.insert(expected.end(), 16, 7);
  EXPECT_EQ(found.codes, expected);
  EXPECT_EQ(found.scales, (std::vector<float>{-2.0f, std::ldexp(1.0f, -24)}));
  EXPECT_EQ(found.offsets, (std::vector<float>{0, 0}));
  EXPECT_TRUE(std::signbit(found.offsets[0])) << "a zero keeps its sign when -0 is added";
}

TEST(GgufTypes, Q4_1) {
  std::vector<uint8_t> bits(16, 0);
  bits[0] = 0xA3;
  bits[15] = 0x0F;
  const Unpacked found = unpack("Q4_1", joined_bytes({kHalf, kMinusTwo, bits}));
  std::vector<int> expected(32, 0);
  expected[0] = 3;
  expected[16] = 10;
  expected[15] = 15;
  EXPECT_EQ(found.codes, expected);
  EXPECT_EQ(found.scales, (std::vector<float>{0.5f}));
  EXPECT_EQ(found.offsets, (std::vector<float>{-2.0f}));
}

TEST(GgufTypes, Q5_0) {
  std::vector<uint8_t> bits(16, 0);
  bits[1] = 0x21;
  // Fifth bits of values 1 and 31.
  const Unpacked found = unpack("Q5_0", joined_bytes({kOne, {0x02, 0, 0, 0x80}, bits}));
  std::vector<int> expected(32, -16);
  expected[1] = 1;
  expected[17] = -14;
  expected[31] = 0;
  EXPECT_EQ(found.codes, expected);
}

TEST(GgufTypes, Q8_0) {
  std::vector<uint8_t> bytes(32, 0);
  bytes[0] = 0x80;
  bytes[1] = 0x7F;
  bytes[31] = 0xFF;
  const Unpacked found = unpack("Q8_0", joined_bytes({kHalf, bytes}));
  std::vector<int> expected(32, 0);
  expected[0] = -128;
  expected[1] = 127;
  expected[31] = -1;
  EXPECT_EQ(found.codes, expected);
  EXPECT_EQ(found.scales, (std::vector<float>{0.5f}));
}

TEST(GgufTypes, Q4_K) {
  // Factors of scales: 1, 2, 3, 63 and, with their high bits in the first four, 0x15, 0x26, 0x37
  // and 0x38; of offsets: 4, 5, 6, 7 and 0x1A, 0x0B, 0x0C, 0x3D.
  const std::vector<uint8_t> factors = {1 | 0x40, 2 | 0x80, 3 | 0xC0, 63 | 0xC0,  //
                                        4 | 0x40, 5,        6,        7 | 0xC0,   //
                                        0xA5,     0xB6,     0xC7,     0xD8};
  std::vector<uint8_t> bits(128, 0);
  bits[0] = 0x21;    // values 0 and 32
  bits[31] = 0x43;   // values 31 and 63
  bits[32] = 0x65;   // values 64 and 96
  bits[127] = 0xF7;  // values 223 and 255
  const Unpacked found = unpack("Q4_K", joined_bytes({kHalf, kMinusTwo, factors, bits}));
  std::vector<int> expected(256, 0);
  expected[0] = 1;
  expected[32] = 2;
  expected[31] = 3;
  expected[63] = 4;
  expected[64] = 5;
  expected[96] = 6;
  expected[223] = 7;
  expected[255] = 15;
  EXPECT_EQ(found.codes, expected);
  EXPECT_EQ(found.scales, (std::vector<float>{0.5, 1, 1.5, 31.5, 10.5, 19, 27.5, 28}));
  EXPECT_EQ(found.offsets, (std::vector<float>{8, 10, 12, 14, 52, 22, 24, 122}));
}

TEST(GgufTypes, Q6_K) {
  std::vector<uint8_t> fours(128, 0), twos(64, 0), factors(16, 1);
  fours[0] = 0x21;    // values 0 and 64
  fours[127] = 0xF0;  // values 191 and 255
  twos[0] = 0xC9;     // values 0, 32, 64 and 96
  factors[15] = 0x80;
  const Unpacked found = unpack("Q6_K", joined_bytes({fours, twos, factors, kHalf}));
  std::vector<int> expected(256, -32);
  expected[0] = 1 + 16 - 32;
  expected[32] = 32 - 32;
  expected[64] = 2 - 32;
  expected[96] = 48 - 32;
  expected[255] = 15 - 32;
  EXPECT_EQ(found.codes, expected);
  EXPECT_EQ(found.scales[0], 0.5f);
  EXPECT_EQ(found.scales[15], -64.0f);
}

/// Codes of counting_nibbles() in the halves of a block.
std::vector<int> counted_codes() {
  const std::vector<int> even = {0, 2, 4, 6, 8, 10, 12, 14}, odd = {1, 3, 5, 7, 9, 11, 13, 15};
  std::vector<int> expected;
  for (const auto& half : {even, even, odd, odd}) {
    expected.insert(expected.end(), half.begin(), half.end());
  }
  return expected;
}

TEST(GgufTypes, IQ4_NL) {
  const Unpacked found = unpack("IQ4_NL", joined_bytes({kOne, counting_nibbles(16)}));
  EXPECT_EQ(found.codes, counted_codes());
  EXPECT_EQ(found.scales, (std::vector<float>{1.0f}));
  for (const char* name : {"IQ4_NL", "IQ4_XS"}) {
    EXPECT_EQ(type_named(name).layout.book, kIq4Values) << name;
  }
}

TEST(GgufTypes, MXFP4) {
  const std::vector<uint8_t> bits = counting_nibbles(16);
  const Unpacked found =
      unpack("MXFP4", joined_bytes({{0x7F}, bits, {0x00}, bits, {0x01}, bits, {0xFF}, bits}));
  EXPECT_EQ(std::vector<int>(found.codes.begin(), found.codes.begin() + 32), counted_codes());
  // Half of 2^(exponent - 127), as the values are doubled.
  EXPECT_EQ(found.scales, (std::vector<float>{0.5f, std::ldexp(1.0f, -128), std::ldexp(1.0f, -127),
                                              std::ldexp(1.0f, 127)}));
  const CodeValues expected{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  EXPECT_EQ(type_named("MXFP4").layout.book, expected);
}

/// Whatever the bytes, codes stay in what the layout says.
TEST(GgufTypes, CodesStayInTheirRange) {
  for (const GgufType& type : gguf_types()) {
    if (type.is_plain()) continue;
    int lowest = INT8_MAX, highest = INT8_MIN;
    for (int byte = 0; byte < 256; ++byte) {
      const std::vector<uint8_t> block(type.block_bytes, static_cast<uint8_t>(byte));
      for (const int code : unpack(type.name, block).codes) {
        lowest = std::min(lowest, code);
        highest = std::max(highest, code);
      }
    }
    EXPECT_EQ(lowest, type.layout.lowest) << type.name;
    EXPECT_EQ(highest, type.layout.highest) << type.name;
  }
}

}  // namespace
}  // namespace predgen
