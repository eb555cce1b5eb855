#include "core/files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "core/error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "predgen_files_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t num_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(Files, WritesAndReadsBytes) {
  const std::string bytes("a\0b\n\xff", 5);
  write_file(folder_ / "x", bytes);
  EXPECT_EQ(read_file(folder_ / "x"), bytes);
  write_file(folder_ / "x", "");
  EXPECT_EQ(read_file(folder_ / "x"), "");
  EXPECT_EQ(num_files(), 1u) << "a temporary file was left";
}

TEST_F(Files, ReadErrorsNameTheFile) {
  EXPECT_THROW(read_file(folder_ / "absent"), UserError);
  try {
    read_file(folder_);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder_.string()));
    EXPECT_THAT(error.what(), HasSubstr("folder"));
  }
}

TEST_F(Files, AFailedWriteLeavesNothing) {
  write_file(folder_ / "file", "old");
  EXPECT_THROW(write_file(folder_ / "file" / "below", "new"), Error);
  EXPECT_THROW(write_file(folder_ / "absent" / "file", "new"), Error);
  EXPECT_EQ(read_file(folder_ / "file"), "old");
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(Files, AFullDiskKeepsTheOldFile) {
  write_file(folder_ / "file", "old");
  // A limit on the size of files fails writes as a full disk does, for root too.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write_file(folder_ / "file", std::string(1 << 20, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(message, HasSubstr((folder_ / "file").string()));
  EXPECT_EQ(read_file(folder_ / "file"), "old");
  EXPECT_EQ(num_files(), 1u) << "the temporary file was left";
}

TEST_F(Files, AFailedRenameKeepsTheTargetAndRemovesTheTemporary) {
  make_folder(folder_ / "target" / "inside");
  EXPECT_THROW(write_file(folder_ / "target", "new"), Error);
  EXPECT_TRUE(fs::is_directory(folder_ / "target" / "inside"));
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(Files, PublishRenames) {
  std::ofstream(folder_ / "part") << "new";
  write_file(folder_ / "whole", "old");
  publish_file(folder_ / "part", folder_ / "whole");
  EXPECT_EQ(read_file(folder_ / "whole"), "new");
  EXPECT_FALSE(fs::exists(folder_ / "part"));
  EXPECT_THROW(publish_file(folder_ / "part", folder_ / "whole"), Error);
  EXPECT_EQ(read_file(folder_ / "whole"), "new");
}

TEST_F(Files, MakesFoldersWithParents) {
  make_folder(folder_ / "a" / "b");
  make_folder(folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b"));
  write_file(folder_ / "file", "x");
  EXPECT_THROW(make_folder(folder_ / "file"), UserError);
  EXPECT_THROW(make_folder(folder_ / "file" / "below"), UserError);
}

TEST_F(Files, FilesOfAShippedConfigurationAreBesideIt) {
  make_folder(folder_ / "configs" / "eval");
  make_folder(folder_ / "data");
  write_file(folder_ / "data" / "questions.jsonl", "x");
  const fs::path config = folder_ / "configs" / "eval" / "one.yaml", other = folder_ / "one.yaml";
  EXPECT_EQ(path_beside_configs("data/questions.jsonl", config),
            folder_ / "data" / "questions.jsonl");
  EXPECT_EQ(path_beside_configs("data/none.jsonl", config), "data/none.jsonl");
  EXPECT_EQ(path_beside_configs("data/questions.jsonl", other), "data/questions.jsonl");
  EXPECT_EQ(path_beside_configs("/data/questions.jsonl", config), "/data/questions.jsonl");
  EXPECT_EQ(path_beside_configs("", config), "");
}

TEST(ExpandVariables, UsesTheEnvironmentOrTheFallback) {
  setenv("PREDGEN_TEST_A", "alpha", 1);
  setenv("PREDGEN_TEST_EMPTY", "", 1);
  unsetenv("PREDGEN_TEST_NONE");
  EXPECT_EQ(expand_variables("no variables, $A, $"), "no variables, $A, $");
  EXPECT_EQ(expand_variables("${PREDGEN_TEST_A}/${PREDGEN_TEST_A}x"), "alpha/alphax");
  EXPECT_EQ(expand_variables("${PREDGEN_TEST_A:-beta}"), "alpha");
  EXPECT_EQ(expand_variables("${PREDGEN_TEST_NONE:-beta}/y"), "beta/y");
  EXPECT_EQ(expand_variables("${PREDGEN_TEST_NONE:-}"), "");
  EXPECT_EQ(expand_variables("${PREDGEN_TEST_EMPTY:-beta}"), "beta");
  EXPECT_THROW(expand_variables("${PREDGEN_TEST_NONE}"), UserError);
  EXPECT_THROW(expand_variables("${PREDGEN_TEST_A"), UserError);
}

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
