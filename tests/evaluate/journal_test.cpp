#include "evaluate/journal.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

TEST(Journal, KeepsWhatWasDone) {
  const TemporaryFolder folder;
  const Json value{{"text", "two\nlines"}, {"mean", 0.1}};
  Journal(folder / "j", "x", false).append("a", value);
  Journal again(folder / "j", "x", false);
  EXPECT_EQ(again.find("a"), value);
  EXPECT_EQ(again.find("b"), std::nullopt);
  again.remove();
  EXPECT_FALSE(std::filesystem::exists(folder / "j"));
}

TEST(Journal, DropsATornLastLine) {
  const TemporaryFolder folder;
  {
    Journal journal(folder / "j", "x", false);
    journal.append("a", 1);
    journal.append("b", 2);
  }
  const std::string whole = read_file(folder / "j");
  write_file(folder / "j", whole.substr(0, whole.size() - 3));
  Journal journal(folder / "j", "x", false);
  EXPECT_EQ(journal.find("a"), Json(1));
  EXPECT_EQ(journal.find("b"), std::nullopt);
  journal.append("b", 2);
  EXPECT_EQ(read_file(folder / "j"), whole);
}

TEST(Journal, OfAnotherRunIsRefusedUntilItIsDropped) {
  const TemporaryFolder folder;
  Journal(folder / "j", "x", false).append("a", 1);
  expect_user_error([&] { Journal(folder / "j", "y", false); }, {"unfinished", "--restart"});
  EXPECT_EQ(Journal(folder / "j", "x", false).find("a"), Json(1));
  EXPECT_EQ(Journal(folder / "j", "y", true).find("a"), std::nullopt);
}

}  // namespace
}  // namespace predgen::evaluate
