#include "hear/transcripts/sherpa_result.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace predgen {
namespace {

SherpaResult read(const std::string& json) { return parse_sherpa_result(Json::parse(json), "it"); }

TEST(SherpaResult, IsReadAsTheServerWritesIt) {
  const SherpaResult result = read(
      R"({ "text": " AFTER \"EARLY\"", "tokens": [" AFTER", " \"EARLY\""], "timestamps": [0.32, 0.64], )"
      R"("ys_probs": [-0.012345, -0.000001], "lm_probs": [], "context_scores": [], "segment": 3, )"
      R"("words": [], "start_time": 0.00, "is_final": true, "is_eof": false})");
  EXPECT_EQ(result.text, "AFTER \"EARLY\"");
  EXPECT_EQ(result.segment, 3);
  EXPECT_TRUE(result.is_final);
}

TEST(SherpaResult, ThatOfOlderServersHasLess) {
  const SherpaResult result = read(R"({"text": "a", "segment": 1})");
  EXPECT_EQ(result.text, "a");
  EXPECT_EQ(result.segment, 1);
  EXPECT_FALSE(result.is_final);
  EXPECT_EQ(read(R"({"text": "b"})").segment, 0);
}

TEST(SherpaResult, OthersAreRefusedWithoutAWordOfThem) {
  for (const char* message :
       {R"({"txt": "secret"})", R"({"text": 5})", R"({"text": "secret", "segment": "1"})",
        R"({"text": "secret", "segment": 0.5})", R"({"text": "secret", "is_final": 1})"}) {
    try {
      read(message);
      ADD_FAILURE() << message;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace predgen
