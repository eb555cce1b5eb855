#include "tensors/gguf_types.h"

#include <algorithm>
#include <iterator>

#include "tensors/gguf_blocks.h"

namespace predgen {
namespace {

constexpr auto kPacked = at::ScalarType::Undefined;
constexpr auto kNone = BlockScales::kNone, kSixBits = BlockScales::kSixBits,
               kEightBits = BlockScales::kEightBits;

// "kvalues" in ggml-common.h.
constexpr CodeValues kIq4{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

constexpr GgufType kGgufTypes[] = {
    {0, "F32", at::kFloat, 1, 4, {}, nullptr},
    {1, "F16", at::kHalf, 1, 2, {}, nullptr},
    {30, "BF16", at::kBFloat16, 1, 2, {}, nullptr},
    {2, "Q4_0", kPacked, 32, 18, {32, -8, 7, false}, unpack_q4_0},
    {3, "Q4_1", kPacked, 32, 20, {32, 0, 15, true}, unpack_q4_1},
    {6, "Q5_0", kPacked, 32, 22, {32, -16, 15, false}, unpack_q5_0},
    {7, "Q5_1", kPacked, 32, 24, {32, 0, 31, true}, unpack_q5_1},
    {8, "Q8_0", kPacked, 32, 34, {32, -128, 127, false}, unpack_q8_0},
    {10, "Q2_K", kPacked, 256, 84, {16, 0, 3, true}, unpack_q2_k},
    {11, "Q3_K", kPacked, 256, 110, {16, -4, 3, false}, unpack_q3_k},
    {12, "Q4_K", kPacked, 256, 144, {32, 0, 15, true, {}, kSixBits}, unpack_q4_k},
    {13, "Q5_K", kPacked, 256, 176, {32, 0, 31, true, {}, kSixBits}, unpack_q5_k},
    {14, "Q6_K", kPacked, 256, 210, {16, -32, 31, false, {}, kEightBits}, unpack_q6_k, 192},
    {20, "IQ4_NL", kPacked, 32, 18, {32, 0, 15, false, kIq4}, unpack_iq4_nl},
    {23, "IQ4_XS", kPacked, 256, 136, {32, 0, 15, false, kIq4}, unpack_iq4_xs},
    {39, "MXFP4", kPacked, 32, 17, {32, 0, 15, false, kDoubledFp4, kNone, true}, unpack_mxfp4},
};

/// By their numbers in ggml.h, including those no longer used in files.
constexpr std::string_view kNames[] = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",    "Q1_0",
    "Q2_0",
};
static_assert(kNames[30] == "BF16" && kNames[42] == "Q2_0");

}  // namespace

std::span<const GgufType> gguf_types() { return kGgufTypes; }

const GgufType* find_gguf_type(uint32_t number) {
  const auto found = std::find_if(std::begin(kGgufTypes), std::end(kGgufTypes),
                                  [&](const GgufType& type) { return type.number == number; });
  return found == std::end(kGgufTypes) ? nullptr : found;
}

std::string_view gguf_type_name(uint32_t number) {
  return number < std::size(kNames) ? kNames[number] : std::string_view();
}

}  // namespace predgen
