#include "evaluate/tool_turns.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "evaluate/method_table.h"
#include "tests/evaluate/run_turns.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kTools =
    R"({"tools": [{"name": "warmth", "description": "How warm.", "effects": "read", "seconds": 1,)"
    R"( "says": "20 in the {room}", "parameters": {"type": "object", "properties":)"
    R"( {"room": {"type": "string"}}, "required": ["room"]}},)"
    R"( {"name": "lamp", "description": "A lamp.", "effects": "idempotent", "seconds": 0.05,)"
    R"( "says": "{state}", "parameters": {"type": "object", "properties":)"
    R"( {"state": {"type": "string", "enum": ["off", "won"]}}, "required": ["state"]}}]})";

struct ToolFiles {
  explicit ToolFiles(const std::string& rows) {
    write_file(folder / "tools.json", kTools);
    write_file(folder / "rows.jsonl", rows);
    config.kind = TurnSetKind::kTools;
    config.file = folder / "rows.jsonl";
    config.tools_file = folder / "tools.json";
  }
  TemporaryFolder folder;
  TurnSetConfig config;
};

constexpr const char* kRows =
    R"({"id": "a", "text": "how warm is the hall right now please", "half": "report",)"
    R"( "call": {"name": "warmth", "arguments": {"room": ["hall", "corridor"]}}})"
    "\n"
    R"({"id": "b", "text": "switch the lamp off for me please", "half": "choose", "source": "x",)"
    R"( "call": {"name": "lamp", "arguments": {"state": "off"}}})"
    "\n"
    R"({"id": "c", "text": "say the joke again if you please", "half": "report", "call": null})"
    "\n"
    R"({"id": "d", "text": "nobody knows"})"
    "\n";

TEST(ToolTurns, AreReadWithTheirTools) {
  ToolFiles files(kRows);
  const TurnSet set = load_turns(files.config);
  ASSERT_EQ(set.turns.size(), 4u);
  ASSERT_EQ(set.tools.size(), 2u);
  EXPECT_EQ(set.turns[0].right_call->group, "reads, 1 s");
  EXPECT_EQ(set.turns[0].category, "warmth");
  EXPECT_EQ(call_text(*set.turns[1].right_call), R"(lamp {"state":"off"})");
  EXPECT_EQ(call_text(*set.turns[2].right_call), "none");
  EXPECT_FALSE(set.turns[3].right_call);
  files.config.half = Half::kReport;
  EXPECT_EQ(load_turns(files.config).turns.size(), 2u);
  files.config.half = Half::kAll;
  files.config.sources = {"x"};
  files.config.tool_seconds = 0.3;
  const TurnSet some = load_turns(files.config);
  ASSERT_EQ(some.turns.size(), 1u);
  EXPECT_EQ(some.tools[0].seconds, 0.3);
  EXPECT_EQ(some.turns[0].right_call->group, "acts, 0.3 s");
}

TEST(ToolTurns, SayWhatIsWrongWithARow) {
  const auto load = [](const std::string& row) {
    return [row] { load_turns(ToolFiles(R"({"id": "a", "text": "b", )" + row + "}\n").config); };
  };
  expect_user_error(load(R"("half": "all")"), {"rows.jsonl:1", "must be choose or report"});
  expect_user_error(load(R"("call": {"name": "x", "arguments": {}})"), {"there is no tool 'x'"});
  expect_user_error(load(R"("call": {"name": "lamp", "arguments": {"state": "dim"}})"),
                    {"the call of 'lamp'", "must be one of"});
  expect_user_error(load(R"("call": {"name": "lamp", "arguments": {"state": []}})"),
                    {"'state' has no value"});
}

TEST(ToolTurns, ACallIsRightWhateverItsCaseAndArticles) {
  const RightCall right{.name = "find",
                        .arguments = {{"what", {"Boston Celtics", "Celtics"}}, {"n", 3}}};
  const auto is_right_with = [&](const std::string& arguments) {
    return is_right(right, {{.id = "", .name = "find", .arguments = arguments}});
  };
  EXPECT_TRUE(is_right_with(R"({"n": 3.0, "what": "the celtics."})"));
  EXPECT_TRUE(is_right_with(R"({"what": "boston  Celtics", "n": 3})"));
  EXPECT_FALSE(is_right_with(R"({"what": "Boston", "n": 3})"));
  EXPECT_FALSE(is_right_with(R"({"what": "Celtics", "n": "3"})"));
  EXPECT_FALSE(is_right_with(R"({"what": "Celtics"})"));
  EXPECT_FALSE(is_right_with(R"({"what": "Celtics", "n": 3, "m": 1})"));
  const ToolCall call{.id = "", .name = "find", .arguments = R"({"what": "Celtics", "n": 3})"};
  ToolCall other = call;
  other.name = "lose";
  EXPECT_TRUE(is_right(right, {call, call}));
  EXPECT_FALSE(is_right(right, {call, other}));
  EXPECT_FALSE(is_right(right, {}));
  EXPECT_TRUE(has_right_name(right, {call, other}));
  EXPECT_FALSE(has_right_name(right, {other}));
  const RightCall none;
  EXPECT_TRUE(is_right(none, {}));
  EXPECT_FALSE(is_right(none, {call}));
  EXPECT_TRUE(has_right_name(none, {}));
}

TEST(ToolTurns, WhatACallNeedsIsSaidSinceItsLastWordThatStayed) {
  using Kind = TurnEvent::Kind;
  const RightCall right{.name = "weather",
                        .arguments = {{"city", {"Rome", "Roma"}}, {"day", "Sunday"}, {"n", 3}}};
  std::vector<TurnEvent> events{{Seconds(1), Kind::kTranscript, "in Roma on Sunday"},
                                {Seconds(2), Kind::kTranscript, "in rome on"},
                                {Seconds(3), Kind::kDraft, ""},
                                {Seconds(4), Kind::kTranscript, "in Rome on sunday"},
                                {Seconds(5), Kind::kTranscript, "in Rome on Sunday, please"},
                                {Seconds(7), Kind::kFinal, "In Rome, on Sunday, please?"}};
  EXPECT_EQ(said_ahead(right, events), 3);  // nobody says 3
  events[4].text = "in Rome on";
  EXPECT_EQ(said_ahead(right, events), 0);
  EXPECT_EQ(said_ahead({.name = "time"}, events), 6);
}

/// Calls a tool for the word behind "the"; then what it says. Of the lamp it makes a wrong call.
std::string call_for(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It is " + user.substr(end + 1) + ". Done.";
  }
  const size_t the = user.find("the ");
  if (the == std::string::npos) return "Yes? Go on.";
  const std::string word = user.substr(the + 4, user.find(' ', the + 4) - the - 4);
  if (word == "joke") return "Ha. Ha.";
  const std::string call = word == "lamp" ? R"(lamp", "arguments": {"state": "dim"}})"
                                          : R"(warmth", "arguments": {"room": ")" + word + "\"}}";
  return "<tool_call>\n{\"name\": \"" + call + "\n</tool_call>";
}

struct ToolBench {
  FakeTokenizer tokenizer;
  FakeLanguageModel model{{.vocab_size = 260, .next = [this](TokenSpan history) {
                             const auto [user, place] = read_history(tokenizer, history);
                             const std::string answer = call_for(user);
                             return place < answer.size() ? static_cast<TokenId>(answer[place])
                                                          : FakeTokenizer::kEnd;
                           }}};
  EvalConfig config;
  TurnSet set = load_turns(ToolFiles(kRows).config);

  ToolBench() {
    config.methods = {"baseline",     "preemptive",       "greedy",
                      "greedy+early", "baseline+grammar", "greedy+early+grammar"};
    config.turn.max_new_tokens = config.turn.max_draft_tokens = 200;
    config.end_of_turn_wait = 0.5;
    config.turns.kind = TurnSetKind::kTools;
    set.turns.resize(3);
  }
  Json report() {
    Engine engine = borrowing_engine(model);
    const RunCost cost{.costs = PassCosts::given(Seconds(0.001))};
    return report_of(
        config.methods, set,
        run_methods(config, cost, {.tokenizer = tokenizer, .base = engine, .tools = &set.tools},
                    set.turns));
  }
};

Json row_of(const Json& report, int turn, const std::string& method) {
  for (const Json& row : report["turns"]) {
    if (row["turn"] == turn && row["method"] == method) return row;
  }
  return {};
}

TEST(ToolTurns, EarlyCallsHideAToolThatReads) {
  const Json report = ToolBench().report();
  for (const char* method : {"baseline", "preemptive", "greedy", "greedy+early"}) {
    const Json row = row_of(report, 0, method);
    EXPECT_EQ(row["text"], "It is 20 in the hall. Done.") << method;
    EXPECT_EQ(row["calls"], R"(warmth {"room":"hall"})") << method;
    EXPECT_EQ(row["correct"], true) << method;
    EXPECT_EQ(row["right_call_told"], true) << method;
    const bool is_early = std::string(method) == "greedy+early";
    EXPECT_EQ(row["tool_hidden"], is_early) << method;
    EXPECT_NEAR(row["tool_wait"].get<double>(), is_early ? 0 : 1, 1e-9) << method;
    EXPECT_EQ(row["early_calls"], is_early ? 1 : 0) << method;
    EXPECT_EQ(row["early_calls_wasted"], 0) << method;
    const double wait = row["wait_for_result"];
    if (is_early) {
      EXPECT_NEAR(wait, 0.5, 0.01);
    } else {
      EXPECT_GT(wait, 1.5);
      EXPECT_LT(wait, 2);
    }
  }
  EXPECT_TRUE(row_of(report, 0, "baseline")["call_known"].is_null());
  EXPECT_EQ(row_of(report, 0, "greedy")["call_known"], true);
  EXPECT_EQ(row_of(report, 0, "greedy")["call_foreseen"], true);
  EXPECT_EQ(report["comparisons"]["greedy+early"]["equal_text"]["count"], 3);
  EXPECT_EQ(report["comparisons"]["greedy+early+grammar"]["equal_text"]["count"], 3);
  EXPECT_EQ(report["comparisons"]["greedy+early+grammar"]["equal_text"]["against"],
            "baseline+grammar");
}

TEST(ToolTurns, NothingWithEffectsIsCalledAhead) {
  const Json report = ToolBench().report();
  for (const Json& row : report["turns"]) EXPECT_EQ(row["effects_ahead"], 0) << row["method"];
  const Json row = row_of(report, 1, "greedy+early+grammar");
  EXPECT_EQ(row["early_calls"], 0);
  EXPECT_TRUE(row["tool_hidden"].is_null());
  EXPECT_EQ(row["tool_group"], "acts, 0.05 s");
}

TEST(ToolTurns, AGrammarLeavesNoMalformedCall) {
  const Json report = ToolBench().report();
  EXPECT_EQ(row_of(report, 1, "greedy")["malformed_calls"], 1);
  EXPECT_EQ(row_of(report, 1, "greedy")["correct"], false);
  EXPECT_EQ(row_of(report, 1, "greedy")["right_call_told"], false);
  EXPECT_EQ(row_of(report, 1, "greedy")["right_tool"], true);
  for (const char* method : {"baseline+grammar", "greedy+early+grammar"}) {
    EXPECT_EQ(row_of(report, 1, method)["malformed_calls"], 0) << method;
    EXPECT_TRUE(row_of(report, 1, method)["calls"].get<std::string>().starts_with("lamp "));
  }
}

TEST(ToolTurns, StandInTheReport) {
  const Json report = ToolBench().report();
  const Json& early = report["methods"]["greedy+early"];
  EXPECT_EQ(early["accuracy"]["n"], 3);
  EXPECT_EQ(early["accuracy"]["count"], 2);
  EXPECT_FALSE(early["accuracy"].contains("strict"));
  EXPECT_EQ(early["accuracy"]["by_category"]["no tool"]["share"], 1.0);
  EXPECT_EQ(early["slow_tool_hidden"]["n"], 1);
  EXPECT_EQ(early["slow_tool_hidden"]["mean"], 1.0);
  EXPECT_EQ(early["slow_tool_could_be_hidden"]["mean"], 1.0);
  const std::string table = format_table(report);
  for (const char* title : {"result ms", "hidden %", "known ahead %", "malformed", "early lost"}) {
    EXPECT_NE(table.find(title), std::string::npos) << title;
  }
  const std::string groups = groups_text(report, "tools");
  EXPECT_NE(groups.find("reads, 1 s: 1 turn"), std::string::npos) << groups;
  EXPECT_NE(groups.find("no tool: 1 turn"), std::string::npos) << groups;
}

TEST(ToolTurns, ALateChangeWastesACallAndIsNotHidden) {
  ToolBench bench;
  bench.config.methods = {"baseline", "greedy+early"};
  bench.set.turns.resize(1);
  EvalTurn& turn = bench.set.turns[0];
  turn.prompt_text = "how warm is the attic now";
  turn.recorded = {{.text = "how warm is the hall", .time = Seconds(1)},
                   {.text = "how warm is the hall now", .time = Seconds(2)},
                   {.text = turn.prompt_text, .time = Seconds(3), .is_final = true}};
  turn.right_call->arguments = {{"room", "attic"}};
  const Json report = bench.report();
  const Json row = row_of(report, 0, "greedy+early");
  EXPECT_EQ(row["text"], row_of(report, 0, "baseline")["text"]);
  EXPECT_EQ(row["correct"], true);
  EXPECT_EQ(row["early_calls"], 2);  // the second one in the pause at the end
  EXPECT_EQ(row["early_calls_wasted"], 1);
  EXPECT_EQ(row["tool_hidden"], false);
  EXPECT_EQ(row["slow_tool_could_be_hidden"], false);
  EXPECT_EQ(row["call_foreseen"], false);
}

}  // namespace
}  // namespace predgen::evaluate
