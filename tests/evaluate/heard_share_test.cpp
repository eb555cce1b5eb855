#include "evaluate/heard_share.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

using Kind = TurnEvent::Kind;

TurnResult turn_of(const std::vector<std::pair<Kind, std::string>>& events, bool is_kept = true) {
  TurnResult result;
  result.prompt_text = "twelve bytes";
  result.first_sentence = "Yes.";
  result.metrics.first_sentence_kept = is_kept;
  for (const auto& [kind, text] : events) result.events.push_back({Seconds(0), kind, text});
  return result;
}

TEST(HeardShare, IsOfWhatWasHeardWhenTheSentenceCameToStay) {
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"},
                                 {Kind::kDraft, "Yes. I"},
                                 {Kind::kTranscript, "twelve"},
                                 {Kind::kDraft, "Yes. We"}})),
            0.25);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"},
                                 {Kind::kDraft, "Yes. I"},
                                 {Kind::kTranscript, "twelve"},
                                 {Kind::kDraft, "No. I"},
                                 {Kind::kTranscript, "twelve by"},
                                 {Kind::kDraft, " Yes. I"},
                                 {Kind::kTranscript, "twelve byt"},
                                 {Kind::kTranscript, "twelve bytes"},
                                 {Kind::kDraft, "Yes. I"}})),
            0.75);
  EXPECT_EQ(
      heard_share(turn_of({{Kind::kTranscript, "all of it and more"}, {Kind::kDraft, "Yes. I"}})),
      1.0);
}

TEST(HeardShare, IsNothingForWhatWasNotDraftedAhead) {
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}})), std::nullopt);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}, {Kind::kDraft, "Yes"}})),
            std::nullopt);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}, {Kind::kDraft, "Yes."}}, false)),
            std::nullopt);  // thrown away, and found once more
}

}  // namespace
}  // namespace predgen::evaluate
