#include "model/memory_left.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

struct Groups {
  /// A file below the root of the groups.
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder / "groups" / file;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }
  GroupMemory memory(const std::string& own) {
    write_file(folder / "own", own);
    return group_memory(folder / "own", folder / "groups");
  }
  const TemporaryFolder folder;
};

TEST(MemoryLeft, TheTightestGroupAboveBoundsIt) {
  Groups groups;
  groups.write("a/memory.max", "1000\n");
  groups.write("a/memory.current", "900\n");
  groups.write("a/memory.stat", "anon 300\nactive_file 250\ninactive_file 350\nslab 7\n");
  groups.write("a/b/memory.max", "max\n");
  groups.write("a/b/memory.current", "800\n");
  GroupMemory memory = groups.memory("0::/a/b\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 1000 - 900 + 250 + 350) << "files make room";
  groups.write("memory.max", "2000\n");
  groups.write("memory.current", "1900\n");
  memory = groups.memory("0::/a/b\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 100);
  groups.write("memory.current", "2100\n");
  EXPECT_EQ(groups.memory("0::/a/b\n").left, 0);
  EXPECT_EQ(groups.memory("0::/\n").limit, 2000);
}

TEST(MemoryLeft, GroupsOfTheFirstVersionCount) {
  Groups groups;
  groups.write("memory/a/memory.limit_in_bytes", "1000\n");
  groups.write("memory/a/memory.usage_in_bytes", "600\n");
  const GroupMemory memory = groups.memory("5:cpu:/c\n4:memory:/a/b\n0::/\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 400);
}

TEST(MemoryLeft, WithoutGroupsThereIsNoBound) {
  Groups groups;
  for (const char* own : {"", "0::/a\n", "nonsense\n", "1:memory\n"}) {
    EXPECT_EQ(groups.memory(own).limit, kAny) << own;
    EXPECT_EQ(groups.memory(own).left, kAny) << own;
  }
}

}  // namespace
}  // namespace predgen
