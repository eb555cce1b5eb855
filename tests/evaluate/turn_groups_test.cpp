#include "evaluate/turn_groups.h"

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

struct Planted {
  int64_t turn;
  const char *change, *source;
  int64_t words;
  double baseline, greedy;  // passes
};

Json make_row(const Planted& planted, const char* method, double passes) {
  const bool is_greedy = std::string(method) == "greedy";
  return {{"turn", planted.turn},
          {"method", method},
          {"last_change", planted.change},
          {"source", *planted.source ? Json(planted.source) : Json(nullptr)},
          {"prompt_words", planted.words},
          {"nfe_to_first_sentence", passes},
          {"nfe_paper", std::max(1.0, passes)},
          {"first_sentence_tokens", 5.0},
          {"draft_model_nfe_to_first_sentence", 0.0},
          {"draft_cost", nullptr},
          {"wait_from_last_word", 0.5 + 0.1 * passes},
          {"ready_before_end", is_greedy && passes == 0},
          {"first_sentence_kept", is_greedy && passes <= 1},
          {"spec_tokens_drafted", is_greedy ? 20.0 : 0.0},
          {"spec_tokens_wasted", is_greedy ? 20 - passes : 0.0},
          {"joules", nullptr},
          {"tool_group", nullptr},
          {"right_call", nullptr},
          {"wait_for_result", nullptr},
          {"tool_hidden", nullptr},
          {"call_known", nullptr},
          {"call_foreseen", nullptr}};
}

Json planted_rows(const char* source = "snips") {
  Json rows = Json::array();
  for (const Planted& planted :
       {Planted{0, "word_added", source, 5, 10, 0}, Planted{1, "word_added", "", 6, 20, 1},
        Planted{2, "punctuation", source, 11, 8, 4}, Planted{3, "word_added", source, 30, 12, 5}}) {
    rows.push_back(make_row(planted, "baseline", planted.baseline));
    rows.push_back(make_row(planted, "greedy", planted.greedy));
  }
  return rows;
}

std::vector<std::string> names_of(const Json& groups) {
  std::vector<std::string> names;
  for (const Json& group : groups) names.push_back(group["group"]);
  return names;
}

TEST(TurnGroups, LengthsFallIntoBands) {
  EXPECT_EQ(length_band(1), "1-5");
  EXPECT_EQ(length_band(5), "1-5");
  EXPECT_EQ(length_band(6), "6-10");
  EXPECT_EQ(length_band(20), "11-20");
  EXPECT_EQ(length_band(21), "more");
}

TEST(TurnGroups, EachHasItsOwnTurnsAndMeans) {
  const Json groups = group_turns(planted_rows(), {"baseline", "greedy"});
  using testing::ElementsAre;
  EXPECT_THAT(names_of(groups["last_change"]), ElementsAre("punctuation", "word_added"));
  EXPECT_THAT(names_of(groups["length"]), ElementsAre("1-5", "6-10", "11-20", "more"));
  EXPECT_THAT(names_of(groups["source"]), ElementsAre("snips"));
  EXPECT_EQ(groups["source"][0]["n"], 3);
  const Json& added = groups["last_change"][1];
  EXPECT_EQ(added["n"], 3);
  const Json& greedy = added["methods"]["greedy"];
  EXPECT_EQ(greedy["n"], 3);
  EXPECT_DOUBLE_EQ(greedy["nfe_to_first_sentence"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(greedy["wait_from_last_word"].get<double>(), 0.7);
  EXPECT_DOUBLE_EQ(greedy["ready_before_end"].get<double>(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(greedy["first_sentence_kept"].get<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(greedy["spec_tokens_drafted"].get<double>(), 20);
  EXPECT_DOUBLE_EQ(greedy["spec_tokens_wasted"].get<double>(), 18);
  EXPECT_TRUE(greedy["joules"].is_null());
  // 42 passes against 1, 1 and 5: none counts as one.
  EXPECT_DOUBLE_EQ(greedy["saving"]["ratio"].get<double>(), 6);
  EXPECT_EQ(greedy["saving"]["n"], 3);
  EXPECT_LE(greedy["saving"]["low"].get<double>(), 6);
  EXPECT_TRUE(added["methods"]["baseline"]["saving"].is_null());
}

TEST(TurnGroups, AreComparedWithTheBaselineOfTheSameWait) {
  Json rows = planted_rows();
  for (Json& row : rows) {
    row["method"] = row["method"] == "greedy" ? "greedy+wait=0.5" : "baseline+wait=0.5";
  }
  const Json groups = group_turns(rows, {"baseline+wait=0.5", "greedy+wait=0.5"});
  EXPECT_EQ(groups["length"][2]["methods"]["greedy+wait=0.5"]["saving"]["ratio"], 2);
}

TEST(TurnGroups, ASetWithoutSourcesHasNoneOfThem) {
  EXPECT_TRUE(group_turns(planted_rows(""), {"baseline", "greedy"})["source"].empty());
  EXPECT_TRUE(group_turns(Json::array(), {"baseline"})["length"].empty());
}

}  // namespace
}  // namespace predgen::evaluate
