#include "serve/known_hashes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/waiting.h"

namespace predgen::serve {
namespace {

namespace fs = std::filesystem;

/// What the next start finds: the hash, and how many files it has read for it.
std::pair<std::string, int64_t> start(const TemporaryFolder& folder, Seconds settled = Seconds(0)) {
  KnownHashes known(folder / "known.json", settled);
  const std::string hash = known.hash({folder / "config.json", folder / "weights"});
  known.save();
  return {hash, known.num_read()};
}

void write(const fs::path& file, const std::string& text) {
  std::fstream(file, std::ios::out | std::ios::in) << text;  // as it is, in place
}

/// Writes a text of the same size, and sets the time back.
void forge(const fs::path& file, const std::string& text) {
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_TRUE(comes_true([&] {  // clocks of files are coarse
    write(file, text);
    ::utimensat(AT_FDCWD, file.c_str(), times, 0);
    ::stat(file.c_str(), &after);
    return after.st_ctim.tv_nsec != before.st_ctim.tv_nsec;
  }));
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

struct KnownHashesTest : testing::Test {
  KnownHashesTest() {
    std::ofstream(folder / "config.json") << "{}";
    std::ofstream(folder / "weights") << "0123456789";
  }
  TemporaryFolder folder;
};

TEST_F(KnownHashesTest, AFileIsReadOnce) {
  const auto [hash, num_read] = start(folder);
  EXPECT_EQ(num_read, 2);
  EXPECT_EQ(start(folder), (std::pair{hash, int64_t{0}}));
}

TEST_F(KnownHashesTest, AChangedFileIsReadAgain) {
  const std::string hash = start(folder).first;
  forge(folder / "weights", "0123456780");
  const auto [changed, num_read] = start(folder);
  EXPECT_EQ(num_read, 1);
  EXPECT_NE(changed, hash);
  fs::remove(folder / "weights");
  std::ofstream(folder / "weights") << "0123456789";
  EXPECT_EQ(start(folder), (std::pair{hash, int64_t{1}})) << "another file with the same content";
}

TEST_F(KnownHashesTest, AFileThatMayStillChangeIsNotRecorded) {
  const std::string hash = start(folder, Seconds(3600)).first;
  EXPECT_FALSE(fs::exists(folder / "known.json"));
  EXPECT_EQ(start(folder, Seconds(3600)), (std::pair{hash, int64_t{2}}));
}

TEST_F(KnownHashesTest, ABrokenRecordIsWrittenAnew) {
  const std::string hash = start(folder).first;
  for (const char* broken : {"", "[1", "[1]", "7", R"({"x": 3})"}) {
    std::ofstream(folder / "known.json") << broken;
    EXPECT_EQ(start(folder), (std::pair{hash, int64_t{2}})) << broken;
    EXPECT_EQ(start(folder), (std::pair{hash, int64_t{0}})) << broken;
  }
  fs::remove(folder / "weights");
  expect_user_error([&] { start(folder); }, {"weights", "cannot be read"});
}

}  // namespace
}  // namespace predgen::serve
