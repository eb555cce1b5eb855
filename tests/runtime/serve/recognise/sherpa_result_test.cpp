#include "runtime/serve/recognise/sherpa_result.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

TEST(SherpaResult, IsReadAsTheServerWritesIt) {
  const RecognisedSegment segment = parse_sherpa_result(
      R"({ "text": " AFTER \"EARLY\"", "tokens": [" AFTER", " \"EARLY\""], "timestamps": [0.32, 0.64], )"
      R"("ys_probs": [-0.012345, -0.000001], "lm_probs": [], "context_scores": [], "segment": 3, )"
      R"("words": [], "start_time": 0.00, "is_final": true, "is_eof": false})");
  EXPECT_EQ(segment.text, "AFTER \"EARLY\"");
  EXPECT_EQ(segment.number, 3);
  EXPECT_TRUE(segment.is_over);
}

TEST(SherpaResult, ThatOfOlderServersHasLess) {
  const RecognisedSegment segment = parse_sherpa_result(R"({"text": "a", "segment": 1})");
  EXPECT_EQ(segment.text, "a");
  EXPECT_EQ(segment.number, 1);
  EXPECT_FALSE(segment.is_over);
  EXPECT_EQ(parse_sherpa_result(R"({"text": "b"})").number, 0);
}

TEST(SherpaResult, OthersAreRefusedWithoutAWordOfThem) {
  for (const char* message :
       {"", "secret", "[]", "5", "null", R"({"txt": "secret"})", R"({"text": 5})",
        R"({"text": "secret", "segment": "1"})", R"({"text": "secret", "segment": 0.5})",
        R"({"text": "secret", "is_final": 1})", "{\"text\": \"\xff\"}", R"({"text": "secret")"}) {
    try {
      parse_sherpa_result(message);
      ADD_FAILURE() << message;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
  expect_user_error([] { parse_sherpa_result(std::string(100000, '[')); }, {"deep"});
}

}  // namespace
}  // namespace predgen
