#include "serve/api_error.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace predgen::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ApiError, IsWrittenAsOpenAiWritesThem) {
  EXPECT_EQ(ApiError({.param = "model"}, "no \xff").json(),
            "{\"error\":{\"message\":\"no \uFFFD\",\"type\":\"invalid_request_error\","
            "\"param\":\"model\",\"code\":null}}");
}

TEST(ApiError, WhyTheServerFailedIsForItsLog) {
  testing::internal::CaptureStdout();  // where spdlog writes unless it is told otherwise
  const ApiError fault = server_fault("a voice", std::runtime_error("a secret\nof many lines"));
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_EQ(fault.status(), 500);
  EXPECT_EQ(fault.fields().at("type"), "server_error");
  EXPECT_STREQ(fault.what(), kServerFault);
  EXPECT_THAT(log, HasSubstr("a voice failed: a secret"));
  EXPECT_THAT(log, Not(HasSubstr("of many lines")));
}

}  // namespace
}  // namespace predgen::serve
