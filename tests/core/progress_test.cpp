#include "core/progress.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace predgen {
namespace {

using testing::HasSubstr;

/// What a bar writes where stderr is no terminal.
template <typename Function>
std::string written(Function function) {
  testing::internal::CaptureStderr();
  function();
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, AFastJobWritesOneLine) {
  const std::string text = written([] {
    Progress progress("Building", "rows", 200);
    for (int64_t i = 1; i <= 200; ++i) progress.update(i);
    progress.finish();
    progress.finish();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr("Building: 200/200 rows (100%)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\r")));
}

TEST(Progress, TheDestructorFinishes) {
  const std::string text = written([] {
    Progress progress("Training", "steps", 10);
    progress.update(4, "loss 2.5");
  });
  EXPECT_THAT(text, HasSubstr("Training: 4/10 steps (40%)"));
  EXPECT_THAT(text, HasSubstr("loss 2.5"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, AJobThatDidNothingHasNoLine) {
  EXPECT_EQ(written([] { Progress progress("Training", "steps", 10); }), "");
}

TEST(Progress, UnknownTotalShowsNoShare) {
  const std::string text = written([] {
    Progress progress("Reading", "files", 0);
    progress.update(3);
  });
  EXPECT_THAT(text, HasSubstr("Reading: 3 files"));
  EXPECT_THAT(text, testing::Not(HasSubstr("%")));
}

TEST(Progress, ResumedWorkIsKeptOutOfTheRate) {
  const std::string text = written([] {
    Progress progress("Training", "steps", 2000);
    progress.update(1000);  // where the checkpoint stood: nothing was done in this run
  });
  EXPECT_THAT(text, HasSubstr("1000/2000 steps (50%), 0:00 elapsed"));
}

}  // namespace
}  // namespace predgen
