#include "core/log.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace predgen {
namespace {

using testing::HasSubstr;

TEST(Log, GoesToStderrOnlyAndObeysTheLevel) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  configure_log("warn");
  spdlog::info("quiet words");
  spdlog::warn("loud words");
  configure_log("info");
  spdlog::info("later words");
  spdlog::default_logger()->flush();
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(err, testing::Not(HasSubstr("quiet words")));
  EXPECT_THAT(err, HasSubstr("loud words"));
  EXPECT_THAT(err, HasSubstr("later words"));
}

TEST(Log, UnknownLevelIsAUserError) { EXPECT_THROW(configure_log("loud"), UserError); }

}  // namespace
}  // namespace predgen
