#include "tensors/safetensors.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

std::string container(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

class SafetensorsTest : public testing::Test {
 protected:
  /// Writes the bytes to a file and expects opening it to fail, naming the file and `parts`.
  void expect_refused(const std::string& bytes, std::vector<std::string> parts) {
    const fs::path file = folder_ / "bad.safetensors";
    std::ofstream(file, std::ios::binary) << bytes;
    parts.push_back("bad.safetensors");
    expect_user_error([&] { SafetensorsFile opened(file); }, parts);
  }

  TemporaryFolder folder_;
};

const std::string kTwoFloats = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST_F(SafetensorsTest, KeepsEveryTypeAndShape) {
  std::map<std::string, at::Tensor> tensors;
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong,
                                    at::kInt, at::kShort, at::kChar, at::kByte, at::kBool}) {
    tensors[at::toString(type)] = at::arange(7, at::kFloat).to(type);
  }
  tensors["scalar"] = at::full({}, 3.5);
  tensors["empty"] = at::empty({4, 0, 2});
  tensors["strided"] = at::arange(12, at::kFloat).view({3, 4}).t();
  write_safetensors(folder_ / "all.safetensors", tensors, {{"format", "pt"}, {"x", "\"y\"\n"}});

  const SafetensorsFile file(folder_ / "all.safetensors");
  EXPECT_EQ(file.metadata().at("x"), "\"y\"\n");
  ASSERT_EQ(file.entries().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor read = file.tensor(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
}

/// Of several blocks, which threads share; LibTorch's conversions are the measure.
TEST_F(SafetensorsTest, LoadsAnyTypeAsLibTorchConverts) {
  const int before = at::get_num_threads();
  const at::Tensor values = at::linspace(-300, 300, 1'300'001, at::kFloat);
  std::map<std::string, at::Tensor> tensors;
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kChar}) {
    tensors[at::toString(type)] = values.clamp(-127, 127).to(type);
  }
  tensors["short"] = at::full({3}, 1.5);  // so that the others begin at odd places
  write_safetensors(folder_ / "all.safetensors", tensors);
  const SafetensorsFile file(folder_ / "all.safetensors");
  for (const int num_threads : {1, 3}) {
    at::set_num_threads(num_threads);
    for (const auto& [name, tensor] : tensors) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        const at::Tensor loaded = file.load(name, at::kCPU, type);
        EXPECT_EQ(loaded.scalar_type(), type);
        EXPECT_TRUE(at::equal(loaded, tensor.to(type))) << name << " as " << at::toString(type);
      }
    }
  }
  at::set_num_threads(before);
}

TEST_F(SafetensorsTest, AFileThatBecomesShorterIsSaid) {
  const int before = at::get_num_threads();
  const fs::path path = folder_ / "cut.safetensors";
  for (const int num_threads : {1, 3}) {
    at::set_num_threads(num_threads);
    write_safetensors(path, {{"a", at::ones({1'300'001}, at::kBFloat16)}});
    const SafetensorsFile file(path);
    fs::resize_file(path, fs::file_size(path) - 100);
    expect_user_error([&] { file.load("a", at::kCPU, at::kFloat); },
                      {"cut.safetensors", "shorter"});
  }
  at::set_num_threads(before);
}

TEST_F(SafetensorsTest, WhatIsLoadedBeginsAtAMultipleOf64Bytes) {
  const std::map<std::string, at::Tensor> tensors{{"a", at::arange(48, at::kFloat).view({3, 16})},
                                                  {"b", at::arange(11, at::kFloat)},
                                                  {"empty", at::empty({0, 4})},
                                                  {"scalar", at::full({}, 2.5)}};
  const auto is_aligned = [](const at::Tensor& tensor) {
    return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 64 == 0;
  };
  int num_views = 0, num_copies = 0;
  for (size_t length = 0; length < 64; length += 8) {  // of the header
    const fs::path path = folder_ / fmt::format("{}.safetensors", length);
    write_safetensors(path, tensors, {{"note", std::string(length, 'x')}});
    const SafetensorsFile file(path);
    for (const auto& [name, tensor] : tensors) {
      const at::Tensor view = file.tensor(name), loaded = file.load(name, at::kCPU, at::kFloat);
      EXPECT_TRUE(at::equal(loaded, tensor)) << name;
      EXPECT_TRUE(is_aligned(loaded)) << name;
      const bool in_place = loaded.const_data_ptr() == view.const_data_ptr();
      EXPECT_EQ(in_place, is_aligned(view)) << name;
      ++(in_place ? num_views : num_copies);
      const at::Tensor narrow = file.load(name, at::kCPU, at::kBFloat16);
      EXPECT_TRUE(at::equal(narrow, tensor.to(at::kBFloat16))) << name;
    }
  }
  EXPECT_GT(num_views, 0);
  EXPECT_GT(num_copies, 0);
}

TEST_F(SafetensorsTest, WritesTheBytesOfTheOfficialLibrary) {
  const fs::path golden = "tests/model/weights/golden";
  for (const char* name : {"mixed.safetensors", "adapter_model.safetensors"}) {
    const SafetensorsFile file(golden / name);
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [tensor, entry] : file.entries()) tensors[tensor] = file.tensor(tensor);
    write_safetensors(folder_ / name, tensors, file.metadata());
    EXPECT_EQ(read_file(folder_ / name), read_file(golden / name)) << name;
  }
}

TEST_F(SafetensorsTest, TensorsOutliveTheFileAndLeaveItAlone) {
  const fs::path path = folder_ / "t.safetensors";
  write_safetensors(path, {{"a", at::ones({3})}});
  const std::string before = read_file(path);
  at::Tensor tensor;
  {
    const SafetensorsFile file(path);
    tensor = file.tensor("a");
  }
  tensor.add_(1);
  EXPECT_EQ(tensor.sum().item<float>(), 6.0f);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(SafetensorsTest, ReadsUnalignedData) {
  std::ofstream(folder_ / "u.safetensors", std::ios::binary)
      << container(kTwoFloats + "   ", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  ASSERT_NE((8 + kTwoFloats.size() + 3) % 4, 0u) << "the case must be unaligned";
  const SafetensorsFile file(folder_ / "u.safetensors");
  EXPECT_TRUE(at::equal(file.tensor("a"), at::tensor({1.0f, 2.0f})));
}

TEST_F(SafetensorsTest, RefusesBrokenContainers) {
  expect_refused("", {"empty"});
  expect_refused("short", {"too short"});
  expect_refused(container(kTwoFloats, std::string(7, 'x')), {"tensor a", "truncated"});
  expect_refused(container(kTwoFloats, std::string(9, 'x')), {"1 bytes follow"});
  const uint64_t beyond = 1000, huge = 100'000'001;
  expect_refused(std::string(reinterpret_cast<const char*>(&beyond), 8) + "{}",
                 {"header of 1000 bytes"});
  expect_refused(std::string(reinterpret_cast<const char*>(&huge), 8) + "{}", {"at most"});
  expect_refused(container("[]", ""), {"does not start"});
  expect_refused(container("{\"a\":", ""), {"not valid JSON"});
  expect_refused(container(R"({"__metadata__":{"n":1}})", ""), {"__metadata__"});
}

TEST_F(SafetensorsTest, RefusesBrokenEntries) {
  const auto entry = [](const std::string& type, const std::string& shape,
                        const std::string& offsets) {
    return "{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  const auto refused = [&](const std::string& header, size_t bytes, const std::string& part) {
    expect_refused(container(header, std::string(bytes, 'x')), {part});
  };
  const std::string a = "{\"a\":";
  refused(a + entry("\"F32\"", "[3]", "[0,8]") + "}", 8, "tensor a: shape and type need 12");
  refused(a + entry("\"F8_E4M3\"", "[8]", "[0,8]") + "}", 8, "F8_E4M3");
  refused(a + entry("\"F32\"", "[-2]", "[0,8]") + "}", 8, "\"shape\"");
  refused(a + entry("\"F32\"", "[1.5]", "[0,8]") + "}", 8, "\"shape\"");
  refused(a + entry("\"F32\"", "[4294967296,4294967296]", "[0,8]") + "}", 8, "too large");
  refused(a + entry("\"F32\"", "[2]", "[8,0]") + "}", 8, "data_offsets");
  refused(a + entry("\"F32\"", "[2]", "[0]") + "}", 8, "data_offsets");
  refused(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8, "\"dtype\" is missing");
  refused(R"({"a":7})", 0, "tensor a");
  const std::string eight = entry("\"F32\"", "[2]", "[0,8]");
  refused("{\"a\":" + eight + ",\"a\":" + eight + "}", 8, "\"a\" occurs twice");
  refused("{\"a\":" + eight + ",\"b\":" + entry("\"F32\"", "[2]", "[12,20]") + "}", 20,
          "tensor b leaves a hole");
  refused("{\"a\":" + eight + ",\"b\":" + entry("\"F32\"", "[2]", "[4,12]") + "}", 12,
          "tensor b overlaps");
  refused("{\"a\":" + entry("\"F32\"", "[2]", "[4,12]") + "}", 12, "leaves a hole");
}

TEST_F(SafetensorsTest, FolderFollowsItsIndex) {
  write_safetensors(folder_ / "model-00001-of-00002.safetensors", {{"a", at::ones({2})}});
  write_safetensors(folder_ / "model-00002-of-00002.safetensors", {{"b", at::zeros({2})}});
  const auto index = [&](const std::string& map) {
    write_file(folder_ / "model.safetensors.index.json", "{\"weight_map\":" + map + "}");
  };
  const auto open = [&] { SafetensorsFolder opened(folder_.path()); };
  const std::string a = R"("a":"model-00001-of-00002.safetensors")";
  index("{" + a + R"(,"b":"model-00002-of-00002.safetensors"})");
  const SafetensorsFolder weights(folder_.path());
  EXPECT_EQ(weights.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(at::equal(weights.tensor("a"), at::ones({2})));
  expect_user_error([&] { weights.tensor("c"); }, {"tensor c"});

  index("{" + a + R"(,"b":"model-00003-of-00002.safetensors"})");
  expect_user_error(open, {"tensor b", "model-00003-of-00002.safetensors", "missing"});
  index("{" + a + R"(,"c":"model-00002-of-00002.safetensors"})");
  expect_user_error(open, {"model-00002-of-00002.safetensors", "no tensor c"});
  index("{" + a + R"(,"b":"../x.safetensors"})");
  expect_user_error(open, {"tensor b", "not a file name"});
  index("{" + a + R"(,"b":7})");
  expect_user_error(open, {"tensor b", "not a file name"});
  index("[]");
  expect_user_error(open, {"weight_map"});
  write_safetensors(folder_ / "model-00001-of-00002.safetensors",
                    {{"a", at::ones({2})}, {"z", at::ones({2})}});
  index("{" + a + R"(,"b":"model-00002-of-00002.safetensors"})");
  expect_user_error(open, {"tensor z", "index"});
}

TEST_F(SafetensorsTest, FolderWithoutWeights) {
  expect_user_error([&] { SafetensorsFolder opened(folder_.path()); }, {"model.safetensors"});
  expect_user_error([&] { SafetensorsFolder opened(folder_ / "none"); }, {"not a folder"});
}

TEST_F(SafetensorsTest, FailedWriteLeavesNothing) {
  const fs::path file = folder_ / "missing/t.safetensors";
  EXPECT_THROW(write_safetensors(file, {{"a", at::ones({2})}}), Error);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  if (fs::exists("/dev/full")) {
    fs::create_symlink("/dev/full", folder_ / "full.safetensors.tmp");
    EXPECT_THROW(write_safetensors(folder_ / "full.safetensors", {{"a", at::ones({2})}}), Error);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
}

}  // namespace
}  // namespace predgen
