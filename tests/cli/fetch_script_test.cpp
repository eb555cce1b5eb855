#include "cli/fetch_script.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::cli {
namespace {
namespace fs = std::filesystem;

class FetchScript : public testing::Test {
 protected:
  fs::path add(const std::string& name) {
    const fs::path file = folder_ / name;
    make_folder(file.parent_path());
    write_file(file, "");
    return file;
  }

  const TemporaryFolder folder_;
};

TEST_F(FetchScript, OfAnInstalledTreeIsInItsBin) {
  make_folder(folder_ / "libexec" / "predgen");
  EXPECT_EQ(find_fetch_script(folder_ / "libexec/predgen"), std::nullopt);
  const fs::path script = add("bin/predgen-fetch-model");
  EXPECT_EQ(find_fetch_script(folder_ / "libexec/predgen"), script);
}

TEST_F(FetchScript, OfABuildIsInTheSourcesAroundIt) {
  const fs::path script = add("scripts/fetch_model.py");
  make_folder(folder_ / "build");
  EXPECT_EQ(find_fetch_script(folder_ / "build"), std::nullopt) << "these are no sources";
  add("CMakeLists.txt");
  EXPECT_EQ(find_fetch_script(folder_ / "build"), script);
  EXPECT_EQ(find_fetch_script(folder_ / "out/build/release"), script);
  EXPECT_EQ(find_fetch_script(folder_ / "a/b/c/d"), std::nullopt) << "that is somewhere else";
}

TEST_F(FetchScript, AProgramInPathMustBeExecutable) {
  const fs::path program = add("bin/python3");
  const std::string path = "/nowhere:" + (folder_ / "bin").string();
  EXPECT_FALSE(is_in_path("python3", path));
  fs::permissions(program, fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_TRUE(is_in_path("python3", path));
  EXPECT_FALSE(is_in_path("python3", "/nowhere"));
  EXPECT_FALSE(is_in_path("python3", ""));
}

}  // namespace
}  // namespace predgen::cli
