#include "tensors/gguf_file.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/fakes/block_scales.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/gguf_writer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

const std::vector<float> kSix = {1, 2, 3, 4, 5, 6};

/// Any bytes but those of float16 numbers that are not finite.
std::string some_blocks(size_t num_bytes) {
  std::string bytes(num_bytes, '\0');
  for (size_t i = 0; i < num_bytes; ++i) bytes[i] = static_cast<char>((i * 37 + i / 256) % 0x70);
  return bytes;
}

class GgufFileTest : public testing::Test {
 protected:
  GgufFile open(const GgufWriter& writer) {
    writer.write(folder_ / "a.gguf");
    return GgufFile(folder_ / "a.gguf");
  }
  void expect_refused(const std::string& bytes, std::vector<std::string> parts) {
    std::ofstream(folder_ / "bad.gguf", std::ios::binary) << bytes;
    parts.emplace_back("bad.gguf");
    expect_user_error([&] { GgufFile opened(folder_ / "bad.gguf"); }, parts);
  }
  void expect_refused(const GgufWriter& writer, const std::vector<std::string>& parts) {
    expect_refused(writer.bytes(), parts);
  }

  TemporaryFolder folder_;
};

TEST_F(GgufFileTest, KeepsShapesAndPlainValues) {
  for (const uint32_t version : {2, 3}) {
    const GgufFile file =
        open(GgufWriter(version)
                 .add("general.architecture", "llama")
                 .tensor("matrix", "F32", {2, 3}, kSix)
                 .tensor("vector", "BF16", {3}, std::vector<uint16_t>{0x3F80, 0x4000, 0x4040})
                 .tensor("cube", "F16", {1, 2, 2}, std::vector<uint16_t>{0x3C00, 0, 0xC000, 1}));
    EXPECT_EQ(file.metadata().get<std::string>("general.architecture"), "llama");
    ASSERT_EQ(file.entries().size(), 3u);
    EXPECT_EQ(file.entry("cube").shape, (std::vector<int64_t>{1, 2, 2}));
    EXPECT_EQ(file.entry("vector").type->name, "BF16");
    const at::Tensor matrix = file.view(file.entry("matrix"));
    EXPECT_TRUE(at::equal(matrix, at::arange(1, 7, at::kFloat).view({2, 3})));
    EXPECT_TRUE(at::equal(file.read_rows(file.entry("matrix"), 1, 2), matrix.narrow(0, 1, 1)));
    const at::Tensor vector = file.view(file.entry("vector"));
    EXPECT_EQ(vector.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(vector.to(at::kFloat), at::arange(1, 4, at::kFloat)));
    EXPECT_TRUE(at::equal(file.read_rows(file.entry("vector"), 0, 3), vector));
    EXPECT_EQ(file.read_rows(file.entry("cube"), 0, 1)[0][1][0].item<float>(), -2.0f);
    EXPECT_EQ(file.read_rows(file.entry("cube"), 1, 1).numel(), 0);
    expect_user_error([&] { file.entry("none"); }, {"a.gguf", "no tensor none"});
  }
}

/// Rows, codes and any part of either are the same, of each type and with any number of threads.
TEST_F(GgufFileTest, WaysOfReadingAgree) {
  const int before = at::get_num_threads();
  constexpr int64_t kRows = 70, kInputs = 1024;  // more than one part
  GgufWriter writer;
  for (const GgufType& type : gguf_types()) {
    if (type.is_plain()) continue;
    writer.tensor(type.name, type.name, {kRows, kInputs},
                  some_blocks(kRows * kInputs / type.block_values * type.block_bytes));
  }
  const GgufFile file = open(writer);
  for (const int num_threads : {1, 3}) {
    at::set_num_threads(num_threads);
    for (const auto& [name, entry] : file.entries()) {
      SCOPED_TRACE(name);
      const at::Tensor rows = file.read_rows(entry, 0, kRows);
      EXPECT_EQ(rows.sizes(), (std::vector<int64_t>{kRows, kInputs}));
      ASSERT_TRUE(rows.isfinite().all().item<bool>());
      EXPECT_GT(rows.abs().max().item<float>(), 0);
      EXPECT_TRUE(at::equal(file.read_rows(entry, 7, 69), rows.slice(0, 7, 69)));
      const CodeLayout& layout = entry.type->layout;
      EXPECT_TRUE(at::equal(widen(file.read_codes(entry, 0, kRows), layout), rows));
      EXPECT_TRUE(at::equal(widen(file.read_codes(entry, 65, 70), layout), rows.slice(0, 65, 70)));
      EXPECT_EQ(file.read_codes(entry, 3, 3).codes.numel(), 0);
      const CodedRows coded = file.read_codes(entry, 7, 69);
      EXPECT_EQ(coded.blocks.defined(), layout.blocks != BlockScales::kNone);
      if (!coded.blocks.defined()) continue;
      const auto [scales, offsets] = scales_of_blocks(coded, layout);
      EXPECT_TRUE(at::equal(scales, coded.scales));
      EXPECT_TRUE(at::equal(offsets, coded.offsets));
    }
  }
  at::set_num_threads(before);
}

/// One dimension has rows that are less than a block, three have rows of several.
TEST_F(GgufFileTest, PackedTensorsMayHaveAnyNumberOfDimensions) {
  const std::string bytes = some_blocks(4 * 34);
  const GgufFile file = open(GgufWriter()
                                 .tensor("one", "Q8_0", {128}, bytes)
                                 .tensor("two", "Q8_0", {4, 32}, bytes)
                                 .tensor("three", "Q8_0", {2, 2, 32}, bytes));
  const at::Tensor two = file.read_rows(file.entry("two"), 0, 4);
  EXPECT_TRUE(at::equal(file.read_rows(file.entry("one"), 0, 128), two.view({128})));
  EXPECT_TRUE(
      at::equal(file.read_rows(file.entry("one"), 30, 37), two.view({128}).slice(0, 30, 37)));
  EXPECT_TRUE(
      at::equal(file.read_rows(file.entry("three"), 1, 2), two.view({2, 2, 32}).slice(0, 1, 2)));
}

TEST_F(GgufFileTest, ViewsOutliveTheFileAndMayLieAnywhere) {
  at::Tensor view, moved;
  {
    const GgufFile file = open(GgufWriter().tensor("x", "F32", {2, 3}, kSix));
    view = file.view(file.entry("x"));
    file.forget(file.entry("x"));
    GgufWriter()
        .add("general.alignment", uint32_t{1})
        .add("padding", "xx")
        .alignment(1)
        .tensor("x", "F32", {2, 3}, kSix)
        .write(folder_ / "odd.gguf");
    const GgufFile odd(folder_ / "odd.gguf");
    ASSERT_NE(odd.entry("x").begin % 4, 0u) << "the case must be unaligned";
    moved = odd.view(odd.entry("x"));
  }
  EXPECT_TRUE(at::equal(view, at::arange(1, 7, at::kFloat).view({2, 3})));
  EXPECT_TRUE(at::equal(moved, view));
}

TEST_F(GgufFileTest, SeveralThreadsReadAtOnce) {
  const GgufFile file = open(GgufWriter().tensor("x", "Q4_0", {64, 1024}, some_blocks(64 * 576)));
  const at::Tensor expected = file.read_rows(file.entry("x"), 0, 64);
  std::array<bool, 4> same{};
  std::vector<std::jthread> threads;
  for (bool& mine : same) {
    threads.emplace_back([&file, &expected, &mine] {
      mine = at::equal(file.read_rows(file.entry("x"), 0, 64), expected);
    });
  }
  threads.clear();
  for (const bool mine : same) EXPECT_TRUE(mine);
}

TEST_F(GgufFileTest, AFileThatBecomesShorterIsSaid) {
  const int before = at::get_num_threads();
  for (const int num_threads : {1, 3}) {
    at::set_num_threads(num_threads);
    const GgufFile file = open(GgufWriter().tensor("x", "Q4_0", {64, 1024}, some_blocks(64 * 576)));
    fs::resize_file(folder_ / "a.gguf", fs::file_size(folder_ / "a.gguf") - 10);
    expect_user_error([&] { file.read_rows(file.entry("x"), 0, 64); }, {"a.gguf", "shorter"});
    expect_user_error([&] { file.read_codes(file.entry("x"), 63, 64); }, {"a.gguf", "shorter"});
    EXPECT_EQ(file.read_rows(file.entry("x"), 0, 8).size(0), 8);
  }
  at::set_num_threads(before);
}

TEST_F(GgufFileTest, RefusesOtherFilesAndVersions) {
  expect_refused("", {"empty"});
  expect_refused("GG", {"truncated"});
  expect_refused("PK\3\4 some archive or other", {"not a GGUF file"});
  expect_refused(GgufWriter(1), {"version 1", "supported are 2 and 3", "convert"});
  expect_refused(GgufWriter(4), {"version 4", "supported are 2 and 3"});
  expect_refused(GgufWriter(0x03000000), {"big-endian"});
  expect_user_error([&] { GgufFile opened(folder_ / "none.gguf"); }, {"none.gguf", "opened"});
  expect_user_error([&] { GgufFile opened(folder_.path()); }, {"not a file"});
}

/// Wherever the file ends, that is said; as is each size that cannot be.
TEST_F(GgufFileTest, RefusesTruncatedFiles) {
  const std::string whole = GgufWriter()
                                .add("text", "abc")
                                .add("list", std::vector<std::string>{"a", "bc"})
                                .tensor("x", "F32", {2, 3}, kSix)
                                .bytes();
  for (size_t length = 1; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    expect_refused(whole.substr(0, length), {"truncated", "download it again"});
  }
  expect_refused(GgufWriter().num_tensors(UINT64_MAX), {"18446744073709551615 tensors"});
  expect_refused(GgufWriter().num_keys(UINT64_MAX / 13), {"metadata keys"});
  const auto count = [](uint32_t type, uint64_t number) {
    return GgufWriter().add_raw("list", GgufValueType::kList,
                                GgufWriter::bytes_of(type) + GgufWriter::bytes_of(number) + "abcd");
  };
  expect_refused(count(4, 2), {"2 values in a list"});
  expect_refused(count(4, UINT64_MAX / 2), {"values in a list"});
  expect_refused(count(8, UINT64_MAX / 4), {"strings in a list"});
  expect_refused(GgufWriter().add_raw("text", GgufValueType::kString,
                                      GgufWriter::bytes_of(UINT64_MAX) + "abc"),
                 {"truncated"});
}

TEST_F(GgufFileTest, RefusesBrokenMetadata) {
  const auto list = [](uint32_t type, const std::string& values) {
    return GgufWriter().add_raw(
        "bad", GgufValueType::kList,
        GgufWriter::bytes_of(type) + GgufWriter::bytes_of(uint64_t{1}) + values);
  };
  expect_refused(list(9, std::string(16, '\0')), {"\"bad\" is a list of lists"});
  expect_refused(list(13, std::string(16, '\0')), {"\"bad\"", "type 13"});
  expect_refused(list(7, "\2"), {"\"bad\"", "2 for a boolean"});
  expect_refused(GgufWriter().add_raw("bad", GgufValueType{13}, "12345678"),
                 {"\"bad\"", "type 13"});
  expect_refused(GgufWriter().add_raw("bad", GgufValueType::kBool, "\7"), {"7 for a boolean"});
  expect_refused(GgufWriter().add("a", 1).add("a", 2), {"\"a\" occurs twice"});
  expect_refused(GgufWriter().add("", 1), {"a metadata key", "0 bytes"});
  expect_refused(GgufWriter().add(std::string(65536, 'k'), 1), {"65536 bytes"});
  expect_refused(GgufWriter().add("a\xFFz", 1), {"a metadata key", "UTF-8"});
  expect_refused(GgufWriter().add("a\nb", 1), {"control characters"});
  for (const int64_t multiple : {0, 3, -32}) {
    expect_refused(GgufWriter().add("general.alignment", multiple), {"general.alignment"});
  }
  expect_refused(GgufWriter().add("general.alignment", "32"), {"general.alignment", "a string"});
}

TEST_F(GgufFileTest, RefusesBrokenTensors) {
  const auto tensor = [](uint32_t type, const std::vector<uint64_t>& shape, uint64_t offset) {
    return GgufWriter().raw_tensor("x", type, shape, offset).data(std::string(1000, '\0'));
  };
  ASSERT_NO_THROW(open(tensor(0, {250}, 0)));
  expect_refused(tensor(0, {251}, 0), {"tensor x", "truncated", "download it again"});
  expect_refused(tensor(0, {1}, 1024), {"tensor x", "truncated"});
  expect_refused(tensor(0, {1}, UINT64_MAX - 31), {"tensor x", "truncated"});
  expect_refused(tensor(0, {8}, UINT64_MAX - 31), {"tensor x", "too large"});
  expect_refused(tensor(0, {1}, 8), {"tensor x", "byte 8", "32"});
  expect_refused(tensor(0, {}, 0), {"tensor x", "0 dimensions"});
  expect_refused(tensor(0, {1, 1, 1, 1, 1}, 0), {"tensor x", "5 dimensions"});
  expect_refused(tensor(0, {2, 0}, 0), {"tensor x", "no values"});
  expect_refused(tensor(0, {1ull << 32, 1ull << 32}, 0), {"tensor x", "too large"});
  expect_refused(tensor(0, {1ull << 63}, 0), {"tensor x", "too large"});
  expect_refused(tensor(0, {1ull << 62}, 0), {"tensor x", "too large"});
  expect_refused(tensor(2, {33}, 0), {"tensor x", "33", "Q4_0", "32"});
  expect_refused(tensor(12, {2, 128}, 0), {"tensor x", "128", "Q4_K", "256"});
  expect_refused(tensor(16, {256}, 0), {"tensor x has type IQ2_XXS; supported are F32, F16, BF16"});
  expect_refused(tensor(99, {256}, 0), {"tensor x has type 99; supported are F32"});
  const auto two = [](const char* name, uint64_t offset) {
    return GgufWriter()
        .raw_tensor("x", 0, {16}, 0)
        .raw_tensor(name, 0, {16}, offset)
        .data(std::string(128, '\0'));
  };
  ASSERT_NO_THROW(open(two("y", 64)));
  expect_refused(two("x", 64), {"tensor x occurs twice"});
  expect_refused(two("y", 32), {"tensors x and y overlap"});
  expect_refused(two("y", 0), {"tensors x and y overlap"});
  expect_refused(two("y", 63).add("general.alignment", 1), {"tensors x and y overlap"});
  expect_refused(two("", 64), {"the name of a tensor", "0 bytes"});
  expect_refused(two(std::string(257, 'y').c_str(), 64), {"257 bytes"});
}

GgufWriter part(int64_t number, int64_t count, const char* tensor) {
  return GgufWriter()
      .add("split.no", static_cast<uint16_t>(number))
      .add("split.count", static_cast<uint16_t>(count))
      .add("split.tensors.count", int32_t{3})
      .tensor(tensor, "F32", {1}, std::vector<float>{static_cast<float>(number)});
}

TEST_F(GgufFileTest, ReadsModelsInSeveralParts) {
  const auto path = [&](int number) {
    return folder_ / fmt::format("m-0000{}-of-00003.gguf", number);
  };
  const auto open_first = [&] { return GgufFile(path(1)); };
  part(0, 3, "x").write(path(1));
  part(1, 3, "y").write(path(2));
  expect_user_error(open_first, {"m-00003-of-00003.gguf", "part 3 of 3 is missing"});
  part(2, 3, "z").write(path(3));
  const GgufFile file = open_first();
  EXPECT_EQ(file.files(), (std::vector<fs::path>{path(1), path(2), path(3)}));
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entry("z").part, 2u);
  EXPECT_EQ(file.view(file.entry("z")).item<float>(), 2);
  EXPECT_EQ(file.read_rows(file.entry("y"), 0, 1).item<float>(), 1);

  expect_user_error([&] { GgufFile opened(path(2)); },
                    {"is part 2 of 3", "give the first one", "m-00001-of-00003.gguf"});
  EXPECT_EQ(read_gguf_metadata(path(2)).get<int64_t>("split.no"), 1);

  part(0, 3, "x").write(folder_ / "m.gguf");
  expect_user_error([&] { GgufFile opened(folder_ / "m.gguf"); }, {"m.gguf", "split.count"});
  part(0, 2, "x").write(path(1));
  expect_user_error(open_first, {"m-00001", "split.count", "2 parts"});
  GgufWriter().write(path(1));
  expect_user_error(open_first, {"m-00001", "split.count"});
  part(1, 3, "x").write(path(1));
  expect_user_error(open_first, {"m-00001", "split.no"});
  part(0, 3, "x").write(path(1));
  part(2, 3, "y").write(path(2));
  expect_user_error(open_first, {"m-00002", "split.no", "is 2"});
  part(1, 3, "x").write(path(2));
  expect_user_error(open_first, {"m-00002", "tensor x is in", "m-00001"});
  part(1, 3, "y").tensor("more", "F32", {1}, std::vector<float>{0}).write(path(2));
  expect_user_error(open_first, {"m-00001", "split.tensors.count says 3", "4 tensors"});
  part(1, 3, "y").num_tensors(99).write(path(2));
  expect_user_error(open_first, {"m-00002", "99 tensors"});
}

TEST_F(GgufFileTest, OnePartIsAWholeModel) {
  for (const char* name : {"m.gguf", "m-00001-of-00001.gguf"}) {
    part(0, 1, "x").write(folder_ / name);
    EXPECT_EQ(GgufFile(folder_ / name).files().size(), 1u);
  }
}

}  // namespace
}  // namespace predgen
