#include "evaluate/last_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

TEST(LastChange, IsOneOfFive) {
  const struct {
    const char *before, *final_text, *change;
  } examples[]{
      {"Let's go there", "lets go there.", "punctuation"},
      {"book a table", "book a  table", "punctuation"},
      {"how are you", "how are you ?", "punctuation"},
      {"book a", "book a table", "word_added"},
      {"to take-", "To take bus", "word_added"},
      {"", "yes", "word_added"},
      {"book a", "book a table for two", "clause_added"},
      {"", "yes please", "clause_added"},
      {"book a cable", "book a table", "word_revised"},
      {"a cable for two", "a table for two", "word_revised"},
      {"book a red table", "book a table", "word_revised"},
      {"book a table", "book a red table", "word_revised"},
      {"book a table the", "book a table", "word_revised"},
      {"please book it", "book it", "word_revised"},
      {"book it", "please book it", "word_revised"},
      {"book a cable for", "book a table for two", "question_changed"},
      {"what is this", "where are we", "question_changed"},
      {"book a table for two", "book a", "question_changed"},
      {"a b c", "a c b", "question_changed"},
  };
  for (const auto& example : examples) {
    EXPECT_EQ(change_between(example.before, example.final_text), example.change)
        << example.before << " -> " << example.final_text;
    EXPECT_THAT(last_changes(), testing::Contains(example.change));
  }
}

TEST(LastChange, LooksAtTheLastTranscriptThatDiffers) {
  EvalTurn turn;
  turn.prompt_text = "book a table";
  EXPECT_EQ(last_change(turn), "word_added");
  turn.prompt_text = "hello";
  EXPECT_EQ(last_change(turn), "none");
  for (const char* text : {"book", "book a cable", "book a table", "book a table"}) {
    turn.recorded.push_back({.text = text});
  }
  EXPECT_EQ(last_change(turn), "word_revised");
  turn.recorded.resize(1);
  EXPECT_EQ(last_change(turn), "none");
}

}  // namespace
}  // namespace predgen::evaluate
