#include "cli/fetch_script.h"

#include <fmt/format.h>
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

TEST_F(FetchScript, OfABuildIsInTheSourcesThatItWasMadeFor) {
  const fs::path script = add("sources/scripts/fetch_model.py");
  const fs::path cache = add("elsewhere/build/CMakeCache.txt");
  EXPECT_EQ(find_fetch_script(cache.parent_path()), std::nullopt);
  write_file(cache, fmt::format("# comment\npredgen_SOURCE_DIR:STATIC={}\n",
                                (folder_ / "sources").string()));
  EXPECT_EQ(find_fetch_script(cache.parent_path()), script);
  fs::remove(script);
  EXPECT_EQ(find_fetch_script(cache.parent_path()), std::nullopt);
}

TEST_F(FetchScript, AnybodysFolderIsNotLookedInto) {
  add("bin/predgen-fetch-model");
  add("scripts/fetch_model.py");
  add("CMakeLists.txt");
  make_folder(folder_ / "clone" / "build");
  EXPECT_EQ(find_fetch_script(folder_ / "clone/build"), std::nullopt);
  EXPECT_EQ(find_fetch_script(folder_ / "clone"), std::nullopt);
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
