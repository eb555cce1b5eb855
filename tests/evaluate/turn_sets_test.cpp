#include "evaluate/turn_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "data/held_out.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/shared_data.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

class TurnSets : public testing::Test {
 protected:
  TurnSets()
      : folder_(std::filesystem::temp_directory_path() /
                ("predgen_turn_sets_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~TurnSets() override { std::filesystem::remove_all(folder_); }

  TurnSetConfig file(TurnSetKind kind, const std::string& text) {
    write_file(folder_ / "set.jsonl", text);
    TurnSetConfig config;
    config.kind = kind;
    config.file = folder_ / "set.jsonl";
    return config;
  }

  std::filesystem::path folder_;
};

std::string error_of(const TurnSetConfig& config) {
  try {
    load_turns(config);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kConversations =
    R"({"conversation_id":"a","conversation":[{"role":"user","content":"first long question"},)"
    R"({"role":"assistant","content":"one"},{"role":"user","content":"short"},)"
    R"({"role":"assistant","content":"two"},{"role":"user","content":"second long question"}]})"
    "\n"
    R"({"conversation_id":"b","conversation":[{"role":"assistant","content":"hello there you"}]})"
    "\n";

TEST_F(TurnSets, ConversationTurnsCarryTheRoundsBefore) {
  TurnSetConfig config = file(TurnSetKind::kConversations, kConversations);
  config.min_characters = 10;
  const TurnSet set = load_turns(config);
  ASSERT_EQ(set.turns.size(), 2u);
  EXPECT_EQ(set.turns[0].id, "a/0");
  EXPECT_EQ(set.turns[0].reference, "one");
  EXPECT_TRUE(set.turns[0].history.empty());
  EXPECT_EQ(set.turns[1].id, "a/2");
  EXPECT_EQ(set.turns[1].prompt_text, "second long question");
  EXPECT_EQ(set.turns[1].reference, "");
  ASSERT_EQ(set.turns[1].history.size(), 4u);
  EXPECT_EQ(set.turns[1].history[2].content, "short");
  EXPECT_EQ(set.turns[1].history[3].role, "assistant");
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_EQ(set.skipped[0].substr(0, 2), "b:");
}

std::vector<std::string> ids_of(const TurnSet& set) {
  std::vector<std::string> ids;
  for (const EvalTurn& turn : set.turns) ids.push_back(turn.id);
  return ids;
}

std::string conversation(const std::string& id, const std::string& fields = "") {
  return R"({"conversation_id":")" + id + R"(","conversation":[{"role":"user","content":"one"},)" +
         R"({"role":"assistant","content":"yes"},{"role":"user","content":"two"}])" + fields +
         "}\n";
}

TEST_F(TurnSets, ConversationsAreFilteredAndCounted) {
  TurnSetConfig config = file(
      TurnSetKind::kConversations,
      conversation("a", R"(,"language":"English")") + conversation("b", R"(,"language":"German")") +
          conversation("c", R"(,"language":"English","redacted":true)") +
          conversation("d", R"(,"language":"English","openai_moderation":[{"flagged":true}])"));
  config.first_round_only = true;
  EXPECT_EQ(ids_of(load_turns(config)), (std::vector<std::string>{"a/0", "b/0", "c/0", "d/0"}));
  config.filters.languages = {"English"};
  EXPECT_EQ(ids_of(load_turns(config)), (std::vector<std::string>{"a/0", "c/0", "d/0"}));
  config.filters.drop_redacted = true;
  config.filters.drop_flagged = true;
  const TurnSet set = load_turns(config);
  EXPECT_EQ(ids_of(set), (std::vector<std::string>{"a/0"}));
  EXPECT_EQ(set.skipped, (std::vector<std::string>{"3 conversations: turns.filters"}));
  config.first_round_only = false;
  EXPECT_EQ(ids_of(load_turns(config)), (std::vector<std::string>{"a/0", "a/1"}));
}

TEST_F(TurnSets, HeldOutConversationsAreThoseOfTheBuilder) {
  std::string rows;
  data::HeldOutShare share(7, 0.1);
  std::vector<data::CorpusConversation> all;
  for (int i = 0; i < 200; ++i) {
    all.emplace_back().id = "c" + std::to_string(i);
    all.back().messages.push_back({"user", "question"});
    rows += conversation(all.back().id);
    share.count(all.back());
  }
  share.decide();
  std::vector<std::string> expected;
  for (const data::CorpusConversation& one : all) {
    if (share.holds(one)) expected.push_back(one.id + "/0");
  }
  TurnSetConfig config = file(TurnSetKind::kConversations, rows);
  config.first_round_only = true;
  config.held_out_fraction = 0.1;
  config.held_out_seed = 7;
  ASSERT_EQ(expected.size(), 20u);
  EXPECT_EQ(ids_of(load_turns(config)), expected);
}

TEST_F(TurnSets, SeveralFilesAreReadInTheOrderOfTheirNames) {
  TurnSetConfig config = file(TurnSetKind::kConversations, "");
  write_file(folder_ / "part-1.jsonl", conversation("b"));
  write_file(folder_ / "part-0.jsonl", conversation("a"));
  config.file = folder_ / "part-*.jsonl";
  EXPECT_EQ(ids_of(load_turns(config)), (std::vector<std::string>{"a/0", "a/1", "b/0", "b/1"}));
}

std::string prompts(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "{\"prompt\":\"prompt " + std::to_string(i) + "\"}\n";
  return text;
}

TEST_F(TurnSets, DrawFollowsTheSeedAndSmallerCountsArePrefixes) {
  TurnSetConfig config = file(TurnSetKind::kPrompts, prompts(100));
  const auto draw = [&](int64_t count, int64_t seed) {
    config.count = count;
    config.seed = seed;
    return ids_of(load_turns(config));
  };
  const auto ten = draw(10, 0), again = draw(10, 0), thirty = draw(30, 0), other = draw(10, 1);
  EXPECT_EQ(ten, again);
  EXPECT_NE(ten, other);
  EXPECT_EQ(ten, std::vector<std::string>(thirty.begin(), thirty.begin() + 10));
  EXPECT_EQ(std::set<std::string>(thirty.begin(), thirty.end()).size(), 30u);
  EXPECT_NE(thirty, draw(0, 0));
  EXPECT_EQ(draw(0, 0).front(), "1");  // 0: all, in file order
}

TEST_F(TurnSets, LengthIsInCharactersNotBytes) {
  TurnSetConfig config =
      file(TurnSetKind::kPrompts, "{\"prompt\":\"\u00e9\u00e9\u00e9\"}\n{\"prompt\":\"abcd\"}\n");
  config.min_characters = 4;
  const TurnSet set = load_turns(config);
  ASSERT_EQ(set.turns.size(), 1u);
  EXPECT_EQ(set.turns[0].prompt_text, "abcd");
}

TEST_F(TurnSets, PromptsAreRowsThatADatasetIsBuiltFrom) {
  const std::string rows =
      "{\"id\":\"p\",\"prompt\":\"one\",\"text\":\"unused\"}\n{\"id\":\"t\",\"text\":\" two \"}\n";
  for (const TurnSetKind kind : {TurnSetKind::kPrompts, TurnSetKind::kConversations}) {
    const TurnSet set = load_turns(file(kind, rows));
    ASSERT_EQ(set.turns.size(), 2u);
    EXPECT_EQ(set.turns[0].prompt_text, "one");
    EXPECT_EQ(set.turns[1].prompt_text, "two");
    EXPECT_EQ(set.turns[1].id, kind == TurnSetKind::kPrompts ? "t" : "t/0");
  }
  EXPECT_NE(error_of(file(TurnSetKind::kPrompts, "{\"text\":\" \"}\n")).find("\"text\" is blank"),
            std::string::npos);
}

TEST_F(TurnSets, RecordingsEndWithTheFinalTranscript) {
  const TurnSet set = load_turns(
      file(TurnSetKind::kRecordedAsr, R"({"x":[[" What",0.0],[" What is it",0.5]],"silent":[]})"));
  ASSERT_EQ(set.turns.size(), 1u);
  ASSERT_EQ(set.turns[0].recorded.size(), 2u);
  EXPECT_EQ(set.turns[0].prompt_text, "What is it");
  EXPECT_FALSE(set.turns[0].recorded[0].is_final);
  EXPECT_TRUE(set.turns[0].recorded[1].is_final);
  EXPECT_DOUBLE_EQ(set.turns[0].recorded[1].time.count(), 0.5);
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_EQ(set.skipped[0], "silent: nothing was heard");
}

TEST_F(TurnSets, MtBenchTurnsOfAQuestionStayTogether) {
  std::string questions;
  for (int i = 0; i < 20; ++i) {
    questions += fmt::format("{{\"question_id\":{},\"turns\":[\"Write.\",\"Again.\"]}}\n", i);
  }
  TurnSetConfig config = file(TurnSetKind::kMtBench, questions);
  config.count = 39;
  const TurnSet set = load_turns(config);
  ASSERT_EQ(set.turns.size(), 39u);
  for (size_t i = 0; i < set.turns.size(); ++i) {
    const EvalTurn &turn = set.turns[i], &first = set.turns[i / 2 * 2];
    EXPECT_EQ(turn.continues, i % 2 == 1);
    EXPECT_EQ(turn.prompt_text, i % 2 == 0 ? "Write." : "Again.");
    EXPECT_EQ(turn.id, first.id.substr(0, first.id.find('/')) + (i % 2 == 0 ? "/0" : "/1"));
  }
  EXPECT_NE(set.turns[0].id, "0/0");  // drawn
}

TEST_F(TurnSets, WhatContinuesAShortTurnIsLeftOutWithIt) {
  TurnSetConfig config = file(TurnSetKind::kMtBench,
                              "{\"question_id\":1,\"turns\":[\"Hi.\",\"A long one.\"]}\n"
                              "{\"question_id\":2,\"turns\":[\"A long one.\",\"Hi.\"]}\n");
  config.min_characters = 5;
  const TurnSet set = load_turns(config);
  ASSERT_EQ(set.turns.size(), 2u);
  EXPECT_EQ(set.turns[0].id, "2/0");
  EXPECT_EQ(set.turns[1].id, "2/1");
}

TEST_F(TurnSets, ErrorsNameTheRow) {
  const std::string file_and_row = (folder_ / "set.jsonl").string() + ":2";
  EXPECT_NE(
      error_of(file(TurnSetKind::kPrompts, prompts(1) + "{\"prompt\": 7}\n")).find(file_and_row),
      std::string::npos);
  EXPECT_NE(error_of(file(TurnSetKind::kPrompts, prompts(1) + "{oops\n")).find(file_and_row),
            std::string::npos);
  TurnSetConfig config = file(TurnSetKind::kPrompts, prompts(3));
  config.count = 4;
  EXPECT_NE(error_of(config).find("has 3 turns"), std::string::npos);
  EXPECT_NE(
      error_of(file(TurnSetKind::kRecordedAsr, R"({"x":[["a",2.0],["b",1.0]]})")).find("earlier"),
      std::string::npos);
}

TEST_F(TurnSets, PromptsMaySayWhereTheyAreFrom) {
  const TurnSet set = load_turns(file(TurnSetKind::kPrompts,
                                      "{\"text\":\"a\",\"source\":\"snips\"}\n{\"text\":\"b\"}\n"
                                      "{\"text\":\"c\",\"source\":null}\n"));
  ASSERT_EQ(set.turns.size(), 3u);
  EXPECT_EQ(set.turns[0].source, "snips");
  EXPECT_EQ(set.turns[1].source + set.turns[2].source, "");
  EXPECT_NE(error_of(file(TurnSetKind::kPrompts, "{\"text\":\"a\",\"source\":7}\n")).find("source"),
            std::string::npos);
}

TEST_F(TurnSets, SharedRecordings) {
  PREDGEN_SHARED_OR_SKIP(recordings, "data/asr/simulated_inputs.json");
  TurnSetConfig config;
  config.kind = TurnSetKind::kRecordedAsr;
  config.file = recordings;
  const TurnSet set = load_turns(config);
  EXPECT_EQ(set.turns.size(), 153u);
  EXPECT_EQ(set.skipped.size(), 3u);
}

constexpr const char* kAdd =
    R"({"question":"What is 1 + 2?","answer":"1 + 2 = <<1+2=3>>3\n#### 3"})"
    "\n";
constexpr const char* kShots = R"({"question":"One?","answer":"#### 1"})"
                               "\n"
                               R"({"question":"Two?","answer":"#### 2"})"
                               "\n"
                               R"({"question":"Three?","answer":"#### 3"})"
                               "\n";

std::string mmlu_row(int id, const char* category, const char* reasoning, const char* answer) {
  return fmt::format(
      R"({{"question_id":{},"question":"Which of {}?","options":["one","two","N/A"],)"
      R"("answer":"{}","cot_content":"{}","category":"{}"}})"
      "\n",
      id, id, answer, reasoning, category);
}

class ExamSets : public testing::Test {
 protected:
  TurnSetConfig config(TurnSetKind kind, const std::string& rows, const std::string& shots = "",
                       int64_t num_shots = 0) {
    write_file(folder_ / "test.jsonl", rows);
    write_file(folder_ / "shots.jsonl", shots);
    TurnSetConfig config;
    config.kind = kind;
    config.file = folder_ / "test.jsonl";
    config.shots = num_shots;
    config.shots_file = folder_ / "shots.jsonl";
    return config;
  }

  const TemporaryFolder folder_;
};

TEST_F(ExamSets, Gsm8kShotsAreEarlierRounds) {
  const TurnSet set = load_turns(config(TurnSetKind::kGsm8k, kAdd, kShots, 2));
  ASSERT_EQ(set.turns.size(), 1u);
  const EvalTurn& turn = set.turns[0];
  EXPECT_EQ(turn.id, "1");
  EXPECT_EQ(turn.prompt_text, "What is 1 + 2?");
  ASSERT_EQ(turn.history.size(), 4u);
  EXPECT_EQ(turn.history[0].content, "One?");
  EXPECT_EQ(turn.history[3].role, "assistant");
  EXPECT_EQ(turn.history[3].content, "#### 2");
  EXPECT_EQ(turn.right_answer.value().text, "3");
  EXPECT_EQ(turn.right_answer->kind, AnswerKind::kNumber);
}

TEST_F(ExamSets, Gsm8kWholePromptIsTheHarnesss) {
  TurnSetConfig whole = config(TurnSetKind::kGsm8k, kAdd, kShots, 2);
  whole.streams = Streams::kPrompt;
  const EvalTurn turn = load_turns(whole).turns.at(0);
  EXPECT_TRUE(turn.history.empty());
  EXPECT_EQ(turn.prompt_text,
            "Question: One?\nAnswer: #### 1\n\nQuestion: Two?\nAnswer: #### 2\n\n"
            "Question: What is 1 + 2?\nAnswer:");
  EXPECT_EQ(turn.question, "What is 1 + 2?");
}

TEST_F(ExamSets, MmluProStreamsQuestionAndOptions) {
  const TurnSet set = load_turns(config(TurnSetKind::kMmluPro, mmlu_row(7, "law", "", "B")));
  const EvalTurn& turn = set.turns.at(0);
  EXPECT_EQ(turn.id, "7");
  EXPECT_EQ(turn.prompt_text, "Question:\nWhich of 7?\nOptions:\nA. one\nB. two");
  EXPECT_THAT(turn.instruction, testing::HasSubstr("about law. Think step by step"));
  EXPECT_EQ(turn.category, "law");
  EXPECT_EQ(turn.right_answer.value().text, "B");
  EXPECT_TRUE(turn.history.empty());
}

TEST_F(ExamSets, MmluProShotsAreOfTheSameCategory) {
  const std::string shots = mmlu_row(1, "maths", "A: Let's think. So A.", "A") +
                            mmlu_row(2, "law", "", "A") +
                            mmlu_row(3, "law", "A: Let's think. So B.", "B");
  TurnSetConfig some = config(TurnSetKind::kMmluPro, mmlu_row(7, "law", "", "B"), shots, 1);
  const EvalTurn rounds = load_turns(some).turns.at(0);
  ASSERT_EQ(rounds.history.size(), 2u);
  EXPECT_EQ(rounds.history[0].content, "Question:\nWhich of 3?\nOptions:\nA. one\nB. two");
  EXPECT_EQ(rounds.history[1].content, "Let's think. So B.");
  some.streams = Streams::kPrompt;
  const EvalTurn whole = load_turns(some).turns.at(0);
  EXPECT_TRUE(whole.history.empty());
  EXPECT_TRUE(whole.instruction.empty());
  EXPECT_EQ(whole.prompt_text,
            "The following are multiple choice questions (with answers) about law. Think step by "
            "step and then finish your answer with \"the answer is (X)\" where X is the correct "
            "letter choice.\n\n\n\n"
            "Question:\nWhich of 3?\nOptions:\nA. one\nB. two\nAnswer: Let's think. So B.\n\n"
            "Question:\nWhich of 7?\nOptions:\nA. one\nB. two\nAnswer: Let's think step by step.");
}

TEST_F(ExamSets, ErrorsNameTheRow) {
  const auto fails = [&](const TurnSetConfig& bad, const std::vector<std::string>& parts) {
    expect_user_error([&] { load_turns(bad); }, parts);
  };
  using enum TurnSetKind;
  fails(config(kGsm8k, kAdd + std::string(R"({"question":"?","answer":"3"})")),
        {"test.jsonl:2", "####"});
  fails(config(kGsm8k, R"({"question":"?"})"), {"test.jsonl:1", "\"answer\""});
  fails(config(kGsm8k, R"({"question":" ","answer":"#### 3"})"), {"test.jsonl:1", "blank"});
  fails(config(kGsm8k, kAdd, kShots, 4), {"shots.jsonl", "3 worked examples", "asks for 4"});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "C")), {"test.jsonl:1", "\"C\""});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "AB")), {"test.jsonl:1", "\"AB\""});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "A"), mmlu_row(1, "law", "", "A"), 1),
        {"shots.jsonl", "0 worked examples of the category law"});
  TurnSetConfig missing = config(kGsm8k, kAdd);
  missing.file = folder_ / "absent.jsonl";
  fails(missing, {"absent.jsonl", "docs/data.md"});
}

TEST_F(ExamSets, SharedFiles) {
  PREDGEN_SHARED_OR_SKIP(data, "data");
  TurnSetConfig gsm8k;
  gsm8k.kind = TurnSetKind::kGsm8k;
  gsm8k.file = data / "gsm8k/test.jsonl";
  gsm8k.shots = 4;
  gsm8k.shots_file = data / "gsm8k/train.jsonl";
  EXPECT_EQ(load_turns(gsm8k).turns.size(), 400u);
  TurnSetConfig mmlu_pro;
  mmlu_pro.kind = TurnSetKind::kMmluPro;
  mmlu_pro.file = data / "mmlu_pro/test.jsonl";
  EXPECT_EQ(load_turns(mmlu_pro).turns.size(), 400u);
}

}  // namespace
}  // namespace predgen::evaluate
