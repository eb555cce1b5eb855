#include "act/tool_runner.h"

#include <gtest/gtest.h>

namespace predgen::act {
namespace {

using Status = ToolResult::Status;

ToolResult read(const char* json, size_t most = 100) {
  return read_call_result(Json::parse(json), most);
}

TEST(CallResult, IsItsTextsOrElseItsStructure) {
  EXPECT_EQ(
      read(R"({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})").text,
      "a\nb");
  EXPECT_EQ(read(R"({"content": [], "structuredContent": {"x": 1}})").text, R"({"x":1})");
  EXPECT_EQ(read(R"({"content": [{"type": "image"}]})").text, "[image]");
  for (const char* odd : {"{}", "null", "[]", R"({"content": 5})", R"({"content": []})"}) {
    EXPECT_EQ(read(odd).text, "Done.") << odd;
    EXPECT_EQ(read(odd).status, Status::kDone) << odd;
  }
  EXPECT_EQ(read(R"({"content": [5, null, {"type": 5}]})").text,
            "[something unknown]\n[something unknown]\n[something unknown]");
}

TEST(CallResult, AnErrorIsSaidSo) {
  const ToolResult result =
      read(R"({"isError": true, "content": [{"type": "text", "text": "no milk"}]})");
  EXPECT_EQ(result.status, Status::kFailed);
  EXPECT_EQ(result.text, "Error: no milk");
  EXPECT_EQ(read(R"({"isError": true})").text, "Error: the tool failed and says no more");
}

TEST(CallResult, IsCutBetweenCharacters) {
  EXPECT_EQ(read(R"({"content": [{"type": "text", "text": "aüb"}]})", 2).text,
            "a\n[cut: 3 more bytes]");
  EXPECT_EQ(bounded("a\x1b[1mb\tc\n", 100), "a[1mb\tc\n");
}

}  // namespace
}  // namespace predgen::act
