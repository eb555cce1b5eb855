#include "tensors/gguf_metadata.h"

#include <gtest/gtest.h>

#include "tensors/gguf_file.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/gguf_writer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

class GgufMetadataTest : public testing::Test {
 protected:
  GgufMetadata metadata(const GgufWriter& writer) {
    writer.write(folder_ / "a.gguf");
    return read_gguf_metadata(folder_ / "a.gguf");
  }
  TemporaryFolder folder_;
};

TEST_F(GgufMetadataTest, GivesEveryTypeOfValue) {
  const GgufMetadata found = metadata(GgufWriter()
                                          .add("true", true)
                                          .add("false", false)
                                          .add("u8", uint8_t{255})
                                          .add("i8", int8_t{-128})
                                          .add("u16", uint16_t{65535})
                                          .add("i16", int16_t{-32768})
                                          .add("u32", UINT32_MAX)
                                          .add("i32", INT32_MIN)
                                          .add("u64", uint64_t{INT64_MAX})
                                          .add("i64", INT64_MIN)
                                          .add("f32", 0.1f)
                                          .add("f64", 0.1)
                                          .add("text", std::string("a\0b\n", 4))
                                          .add("empty", ""));
  EXPECT_TRUE(found.get<bool>("true"));
  EXPECT_FALSE(found.get<bool>("false"));
  EXPECT_EQ(found.get<int64_t>("u8"), 255);
  EXPECT_EQ(found.get<int64_t>("i8"), -128);
  EXPECT_EQ(found.get<int64_t>("u16"), 65535);
  EXPECT_EQ(found.get<int64_t>("i16"), -32768);
  EXPECT_EQ(found.get<int64_t>("u32"), UINT32_MAX);
  EXPECT_EQ(found.get<int64_t>("i32"), INT32_MIN);
  EXPECT_EQ(found.get<int64_t>("u64"), INT64_MAX);
  EXPECT_EQ(found.get<int64_t>("i64"), INT64_MIN);
  EXPECT_EQ(found.get<double>("f32"), double{0.1f});
  EXPECT_EQ(found.get<double>("f64"), 0.1);
  EXPECT_EQ(found.get<double>("i32"), INT32_MIN);
  EXPECT_EQ(found.get<std::string>("text"), std::string("a\0b\n", 4));
  EXPECT_EQ(found.get<std::string>("empty"), "");
  EXPECT_EQ(found.count("text"), 0u);
}

template <typename T>
std::vector<T> three() {
  return {T{1}, T{2}, T{3}};
}

TEST_F(GgufMetadataTest, GivesListsOfEveryTypeOfNumber) {
  const GgufMetadata found =
      metadata(GgufWriter()
                   .add("u8", three<uint8_t>())
                   .add("i8", three<int8_t>())
                   .add("u16", three<uint16_t>())
                   .add("i16", three<int16_t>())
                   .add("u32", three<uint32_t>())
                   .add("i32", three<int32_t>())
                   .add("u64", three<uint64_t>())
                   .add("i64", three<int64_t>())
                   .add("f32", three<float>())
                   .add("f64", three<double>())
                   .add("below", std::vector<int16_t>{-1, -2})
                   .add("bools", std::vector<bool>{true, false})
                   .add("texts", std::vector<std::string>{"", "one", std::string(300, 'x')})
                   .add("none", std::vector<float>{}));
  for (const char* key : {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"}) {
    EXPECT_EQ(found.get<std::vector<int64_t>>(key), three<int64_t>()) << key;
    EXPECT_EQ(found.get<std::vector<double>>(key), three<double>()) << key;
    EXPECT_EQ(found.count(key), 3u);
  }
  EXPECT_EQ(found.get<std::vector<double>>("f32"), three<double>());
  EXPECT_EQ(found.get<std::vector<double>>("f64"), three<double>());
  EXPECT_EQ(found.get<std::vector<int64_t>>("below"), (std::vector<int64_t>{-1, -2}));
  EXPECT_EQ(found.get<std::vector<int64_t>>("bools"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(found.get<std::vector<std::string>>("texts"),
            (std::vector<std::string>{"", "one", std::string(300, 'x')}));
  EXPECT_TRUE(found.get<std::vector<double>>("none").empty());
}

TEST_F(GgufMetadataTest, SaysWhatAKeyIsInstead) {
  const GgufMetadata found = metadata(GgufWriter()
                                          .add("text", "7")
                                          .add("whole", 7)
                                          .add("real", 7.0)
                                          .add("bool", true)
                                          .add("large", UINT64_MAX)
                                          .add("larges", std::vector<uint64_t>{1, UINT64_MAX})
                                          .add("reals", std::vector<float>{1})
                                          .add("texts", std::vector<std::string>{"1"}));
  const auto refused = [&]<typename T>(T, const char* key, const char* what) {
    expect_user_error([&] { found.get<T>(key); }, {"a.gguf", fmt::format("\"{}\" {}", key, what)});
  };
  refused(int64_t{}, "none", "is missing");
  refused(double{}, "text", "is a string, not a number");
  refused(int64_t{}, "real", "is a floating-point number, not a whole number");
  refused(int64_t{}, "bool", "is a boolean, not a whole number");
  refused(double{}, "bool", "is a boolean, not a number");
  refused(bool{}, "whole", "is a whole number, not a boolean");
  refused(std::string(), "whole", "is a whole number, not a string");
  refused(std::string(), "texts", "is a list of strings, not a string");
  refused(int64_t{}, "large", "is a whole number, too large for int64");
  refused(std::vector<int64_t>(), "larges", "is a list of whole numbers, too large for int64");
  refused(std::vector<int64_t>(), "reals",
          "is a list of floating-point numbers, not a list of whole numbers");
  refused(std::vector<double>(), "texts", "is a list of strings, not a list of numbers");
  refused(std::vector<std::string>(), "reals",
          "is a list of floating-point numbers, not a list of strings");
  refused(std::vector<double>(), "whole", "is a whole number, not a list of numbers");
  EXPECT_EQ(found.get<double>("large"), 0x1p64);
}

TEST_F(GgufMetadataTest, WhatIsNotThereMayHaveAValue) {
  const GgufMetadata found = metadata(GgufWriter().add("seven", 7).add("text", "x"));
  EXPECT_EQ(found.get_or<int64_t>("seven", 1), 7);
  EXPECT_EQ(found.get_or<int64_t>("none", 1), 1);
  EXPECT_EQ(found.find<int64_t>("seven"), 7);
  EXPECT_EQ(found.find<int64_t>("none"), std::nullopt);
  EXPECT_EQ(found.count("none"), 0u);
  // One that is there in another type is not "not there".
  expect_user_error([&] { found.get_or<int64_t>("text", 1); }, {"\"text\""});
  expect_user_error([&] { found.find<int64_t>("text"); }, {"\"text\""});
}

TEST_F(GgufMetadataTest, ListsOutliveTheFile) {
  const GgufMetadata found = metadata(GgufWriter().add("list", three<int32_t>()));
  std::filesystem::remove(folder_ / "a.gguf");
  EXPECT_EQ(found.get<std::vector<int64_t>>("list"), three<int64_t>());
}

/// read_gguf_metadata() looks at nothing behind the keys.
TEST_F(GgufMetadataTest, TensorsMayBeWrong) {
  const GgufWriter writer = GgufWriter().add("seven", 7).raw_tensor("x", 16, {256}, 0);
  EXPECT_EQ(metadata(writer).get<int64_t>("seven"), 7);
  expect_user_error([&] { GgufFile opened(folder_ / "a.gguf"); }, {"IQ2_XXS"});
}

}  // namespace
}  // namespace predgen
