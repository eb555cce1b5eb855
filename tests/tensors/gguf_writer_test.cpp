#include "tensors/gguf_writer.h"

#include <gtest/gtest.h>

#include "tensors/gguf_file.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

TEST(GgufWriter, WritesWhatTheReaderReads) {
  const TemporaryFolder folder;
  GgufContents contents;
  contents.add("general.architecture", "llama");
  contents.add("flag", true);
  contents.add("number", uint32_t{7});
  contents.add("real", 0.5f);
  contents.add("texts", std::vector<std::string>{"a", "", "ü"});
  contents.add("reals", std::vector<float>{1, -2});
  contents.add("numbers", std::vector<int32_t>{3, -4});
  const std::vector<std::string> names{"F32", "F16", "BF16", "Q8_0", "Q4_0"};
  for (const std::string& name : names) contents.add_tensor(name, written_gguf_type(name), {3, 64});
  contents.add_tensor("norm", written_gguf_type("F32"), {5});
  const at::Tensor values = normal({3, 64}, 1), norm = normal({5}, 2);
  contents.write(folder / "a.gguf", [&](const std::string& name, int64_t begin, int64_t end) {
    return (name == "norm" ? norm : values).slice(0, begin, end);
  });
  EXPECT_EQ(contents.num_bytes(), std::filesystem::file_size(folder / "a.gguf"));

  const GgufFile file(folder / "a.gguf");
  const GgufMetadata& metadata = file.metadata();
  EXPECT_EQ(metadata.get<std::string>("general.architecture"), "llama");
  EXPECT_TRUE(metadata.get<bool>("flag"));
  EXPECT_EQ(metadata.get<int64_t>("number"), 7);
  EXPECT_EQ(metadata.get<double>("real"), 0.5);
  EXPECT_EQ(metadata.get<std::vector<std::string>>("texts"),
            (std::vector<std::string>{"a", "", "ü"}));
  EXPECT_EQ(metadata.get<std::vector<double>>("reals"), (std::vector<double>{1, -2}));
  EXPECT_EQ(metadata.get<std::vector<int64_t>>("numbers"), (std::vector<int64_t>{3, -4}));
  EXPECT_TRUE(at::equal(file.read_rows(file.entry("norm"), 0, 5), norm));
  const double most[] = {0, 5e-4, 4e-3, 0.01, 0.12};
  for (size_t i = 0; i < names.size(); ++i) {
    const GgufFile::Entry& entry = file.entry(names[i]);
    EXPECT_EQ(entry.type->name, names[i]);
    const at::Tensor found = file.read_rows(entry, 0, 3).to(at::kFloat);
    EXPECT_LE((found - values).norm().item<double>(), most[i] * values.norm().item<double>());
  }
}

TEST(GgufWriter, LeavesNothingOfAFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  GgufContents contents;
  contents.add_tensor("x", written_gguf_type("F32"), {2});
  EXPECT_ANY_THROW(contents.write(folder / "none/a.gguf",
                                  [](const auto&, int64_t, int64_t) { return at::zeros({2}); }));
  EXPECT_ANY_THROW(contents.write(
      folder / "a.gguf",
      [](const auto&, int64_t, int64_t) -> at::Tensor { throw std::runtime_error("stopped"); }));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace predgen
