#include "core/staged_folder.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

TEST(StagedFolder, GetsItsNameWhenItIsWhole) {
  const TemporaryFolder scratch;
  {
    StagedFolder staged(scratch / "a/b/model");
    write_file(staged.path() / "file", "new");
    EXPECT_FALSE(fs::exists(scratch / "a/b/model"));
    staged.publish();
  }
  EXPECT_EQ(read_file(scratch / "a/b/model/file"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "a/b"), {}), 1);
}

TEST(StagedFolder, AnExceptionLeavesNothing) {
  const TemporaryFolder scratch;
  try {
    const StagedFolder staged(scratch / "model");
    write_file(staged.path() / "file", "new");
    throw std::runtime_error("half way");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(StagedFolder, WhatAKilledProcessLeftIsRemoved) {
  const TemporaryFolder scratch;
  make_folder(scratch / ".model.partial/below");
  write_file(scratch / ".model.partial/old", "half");
  StagedFolder staged(scratch / "model");
  EXPECT_EQ(staged.path(), scratch / ".model.partial");
  EXPECT_TRUE(fs::is_empty(staged.path()));
  staged.publish();
  EXPECT_TRUE(fs::is_empty(scratch / "model"));
}

TEST(StagedFolder, TwoWritersOfOneNameAreRefused) {
  const TemporaryFolder scratch;
  StagedFolder first(scratch / "model");
  write_file(first.path() / "file", "first");
  try {
    const StagedFolder second(scratch / "model");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("another process"));
  }
  first.publish();
  EXPECT_EQ(read_file(scratch / "model/file"), "first");
}

TEST(StagedFolder, NeverReplacesContents) {
  const TemporaryFolder scratch;
  make_folder(scratch / "model");
  {
    StagedFolder staged(scratch / "model");
    write_file(scratch / "model/precious", "kept");
    EXPECT_THROW(staged.publish(), Error);
  }
  EXPECT_EQ(read_file(scratch / "model/precious"), "kept");
  EXPECT_FALSE(fs::exists(scratch / ".model.partial"));
}

}  // namespace
}  // namespace predgen
