#include "data/dataset_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/drop_report.h"
#include "data/held_out.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

namespace fs = std::filesystem;

std::string row(const std::string& id, const std::vector<std::string>& texts) {
  Json messages = Json::array();
  for (const std::string& text : texts) {
    messages.push_back(
        {{"content", text}, {"role", messages.size() % 2 == 0 ? "user" : "assistant"}});
  }
  return Json{{"conversation_id", id}, {"conversation", messages}, {"language", "English"}}.dump() +
         "\n";
}

std::string many_rows(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    text += row("c" + n, {"first question " + n, "answer one", "second question " + n, "two",
                          "third question " + n, "the third answer"});
  }
  return text;
}

BuildConfig config(const TemporaryFolder& folder, const std::string& output) {
  BuildConfig result;
  result.sources = {(folder.path() / "*.jsonl").string()};
  result.output = folder.path() / output;
  result.threads = 1;
  result.records_per_shard = 500;
  return result;
}

TEST(DatasetBuilder, ResultDoesNotDependOnThreads) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", many_rows(1300));
  const FakeTokenizer tokenizer;
  BuildConfig one = config(folder, "one"), four = config(folder, "four");
  one.examples_per_conversation = four.examples_per_conversation = 2;
  four.threads = 4;
  const BuildResult result = build_dataset(one, tokenizer, {});
  build_dataset(four, tokenizer, {});
  EXPECT_EQ(result.manifest.at("num_records"), 2600);
  for (const auto& entry : fs::directory_iterator(one.output)) {
    const fs::path name = entry.path().filename();
    EXPECT_EQ(read_file(entry.path()), read_file(four.output / name)) << name;
  }
  BuildConfig other = config(folder, "other");
  other.examples_per_conversation = 2;
  other.seed = 1;
  build_dataset(other, tokenizer, {});
  EXPECT_NE(read_file(one.output / "shard-00000.h5"), read_file(other.output / "shard-00000.h5"));
}

TEST(DatasetBuilder, ContinuesAKilledBuildAndThenDoesNothing) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", many_rows(1300));
  const FakeTokenizer tokenizer;
  const BuildConfig whole = config(folder, "whole"), killed = config(folder, "killed");
  build_dataset(whole, tokenizer, {});
  // As a kill leaves it: the recipe, one published shard, half of the next.
  fs::create_directories(killed.output);
  const Json manifest = read_json(whole.output / "manifest.json");
  write_file(killed.output / "recipe.json", manifest.at("recipe").dump());
  fs::copy(whole.output / "shard-00000.h5", killed.output / "shard-00000.h5");
  write_file(killed.output / "shard-00001.h5.tmp", "half");
  EXPECT_FALSE(build_dataset(killed, tokenizer, {}).already_complete);
  for (const char* name : {"shard-00000.h5", "shard-00001.h5", "shard-00002.h5", "manifest.json"}) {
    EXPECT_EQ(read_file(whole.output / name), read_file(killed.output / name)) << name;
  }
  EXPECT_TRUE(build_dataset(killed, tokenizer, {}).already_complete);
}

TEST(DatasetBuilder, AStopLeavesABuildThatGoesOn) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", many_rows(20));
  const BuildConfig whole = config(folder, "whole"), stopped = config(folder, "stopped");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(build_dataset(stopped, FakeTokenizer(), stop.get_token()), Interrupted);
  EXPECT_FALSE(fs::exists(stopped.output / "manifest.json"));
  const BuildResult result = build_dataset(stopped, FakeTokenizer(), {});
  EXPECT_EQ(result.manifest, build_dataset(whole, FakeTokenizer(), {}).manifest);
}

TEST(DatasetBuilder, CountsEveryDrop) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", row("1", {"q", "a"}) + row("2", {}) + row("3", {"q", " "}) +
                                     row("4", {"q"}) + row("5", {"long long long", "answer"}) +
                                     R"({"conversation":[{"role":"assistant","content":"x"}]})" +
                                     "\n");
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  build.filters.max_tokens = 10;
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  EXPECT_EQ(counters.at("rows_read"), 6);
  EXPECT_EQ(counters.at("records"), 1);
  const Json& dropped = counters.at("dropped");
  for (const char* rule :
       {"empty_conversation", "empty_message", "no_answer", "max_tokens", "wrong_roles"}) {
    EXPECT_EQ(dropped.at(rule), 1) << rule;
  }
}

TEST(DatasetBuilder, MalformedRowsAreNamedOrSkippedAndCounted) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl",
             row("1", {"q", "a"}) + "{\"conversation\": [\n" + "{\"conversation\": 7}\n" +
                 R"({"conversation":[{"role":"user","content":3}]})" + "\n" + row("2", {"r", "a"}));
  BuildConfig build = config(folder, "out");
  expect_user_error([&] { build_dataset(build, FakeTokenizer(), {}); },
                    {"a.jsonl:2: not valid JSON", "(--skip-bad-rows skips such rows)"});
  fs::remove_all(build.output);
  build.skip_bad_rows = true;
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  EXPECT_EQ(counters.at("bad_rows"), 2);
  EXPECT_EQ(counters.at("dropped").at("no_text"), 1);
  EXPECT_EQ(counters.at("records"), 2);
  EXPECT_EQ(counters.at("rows_read"), 5);
}

TEST(DatasetBuilder, RowsThatCannotBeUsedAreCounted) {
  const TemporaryFolder folder;
  const std::string question = R"({"messages":[{"role":"user","content":"q"},)";
  write_file(folder / "a.jsonl",
             "\xEF\xBB\xBF" + row("1", {"q", "a"}) + "\r\n" + question +
                 R"({"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}]})" + "\r\n" +
                 question + R"({"role":"assistant","content":null}]})" + "\n" + question +
                 R"({"role":"narrator","content":"x"}]})" + "\n" + question +
                 R"({"role":"assistant","content":"a\ud83d"}]})" + "\n" +
                 R"({"messages":[{"role":"assistant","content":"first"}],"score":NaN})" + "\n" +
                 R"({"prompt":"r","completion":"a","score":NaN})" + "\n{}\n");
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  EXPECT_EQ(counters.at("rows_read"), 8);
  EXPECT_EQ(counters.at("records"), 2);
  EXPECT_EQ(counters.at("bad_rows"), 0);
  for (const char* rule : {"tool_calls", "no_text", "unknown_role", "broken_text", "wrong_roles",
                           "empty_conversation"}) {
    EXPECT_EQ(counters.at("dropped").at(rule), 1) << rule;
  }
}

TEST(DatasetBuilder, FilesInOtherEncodingsAreNamed) {
  const auto error = [](const std::string& bytes, const std::vector<std::string>& parts) {
    const TemporaryFolder folder;
    write_file(folder / "a.jsonl", bytes);
    expect_user_error([&] { build_dataset(config(folder, "out"), FakeTokenizer(), {}); }, parts);
  };
  using std::string_literals::operator""s;
  error("\xFF\xFE{\0\"\0"s, {"a.jsonl: is written in UTF-16", "iconv -f UTF-16 -t UTF-8"});
  error("{\0\"\0p\0"s, {"a.jsonl: is written in UTF-16LE", "iconv"});
  error("\0{\0\"\0p"s, {"a.jsonl: is written in UTF-16BE", "iconv"});
  error("\xFF\xFE\0\0{\0\0\0"s, {"a.jsonl: is written in UTF-32", "iconv"});
  error("{\"prompt\":\"caf\xE9\"}\n", {"a.jsonl:1: is not UTF-8", "byte 14", "LATIN1"});
  error("{\"prompt\":\"a\tb\"}\n", {"a.jsonl:1: not valid JSON: column ", "control character"});
  error("{\n\"prompt\":\"a\"\n}\n", {"a.jsonl:1: not valid JSON: ", "on a line of its own"});
}

TEST(DatasetBuilder, ARowsSystemMessageIsKeptOrItsLossCounted) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl",
             R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},)"
             R"({"role":"assistant","content":"a"}]})"
             "\n" +
                 row("none", {"r", "a"}));
  const auto build = [&](const std::string& output, const std::string& system) {
    BuildConfig whole = config(folder, output);
    whole.law = ExampleLaw::kWhole;
    whole.system_prompt = system;
    const Json counters = build_dataset(whole, FakeTokenizer(), {}).manifest.at("counters");
    const auto dataset = open_dataset(whole.output);
    return std::pair(counters.at("system_messages_replaced").get<int>(),
                     FakeTokenizer().decode(dataset->read(0).tokens, true) +
                         FakeTokenizer().decode(dataset->read(1).tokens, true));
  };
  const std::string first = "<user>q<end><assistant>a<end>",
                    second = "<user>r<end><assistant>a<end>";
  EXPECT_EQ(build("row", "row"), std::pair(0, "<system>s<end>" + first + second));
  EXPECT_EQ(build("none", "none"), std::pair(1, first + second));
  EXPECT_EQ(build("text", "s t"),
            std::pair(1, "<system>s t<end>" + first + "<system>s t<end>" + second));
}

TEST(DatasetBuilder, EmptyResultIsAnError) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", row("1", {}));
  expect_user_error([&] { build_dataset(config(folder, "out"), FakeTokenizer(), {}); },
                    {"a.jsonl", "empty: 1 of 1 rows was dropped: they have no message"});
  BuildConfig missing = config(folder, "out2");
  missing.sources = {(folder.path() / "none-*.parquet").string()};
  expect_user_error([&] { build_dataset(missing, FakeTokenizer(), {}); },
                    {"no such file", "PREDGEN_DATA", "docs/data.md"});
}

TEST(DatasetBuilder, TakesRowsAsOthersWriteThem) {
  const TemporaryFolder folder;
  write_file(
      folder / "a.jsonl",
      R"({"id":"openai","messages":[{"role":"developer","content":"s"},{"role":"user","content":"q"},)"
      R"({"role":"assistant","content":"a"}]})"
      "\n"
      R"({"id":7,"conversations":[{"from":"system","value":"s"},{"from":"human","value":"r"},)"
      R"({"from":"gpt","value":"a"}]})"
      "\n"
      R"({"conversations":[{"role":"user","content":"t"},{"role":"assistant","content":"a"}]})"
      "\n"
      R"({"prompt":"unused","conversation":null,"messages":[{"role":"user","content":"u"},)"
      R"({"role":"assistant","content":"a"}]})"
      "\n");
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  build_dataset(build, FakeTokenizer(), {});
  const auto dataset = open_dataset(build.output);
  ASSERT_EQ(dataset->size(), 4);
  const auto text = [&](int64_t i) {
    return FakeTokenizer().decode(dataset->read(i).tokens, true);
  };
  const std::string system = "<system>s<end>";
  EXPECT_EQ(text(0), system + "<user>q<end><assistant>a<end>");
  EXPECT_EQ(text(1), system + "<user>r<end><assistant>a<end>");
  EXPECT_EQ(text(2), "<user>t<end><assistant>a<end>");
  EXPECT_EQ(text(3), "<user>u<end><assistant>a<end>");
  for (const auto& [place, id] :
       {std::pair(0, "openai"), {1, "7"}, {2, "a.jsonl:3"}, {3, "a.jsonl:4"}}) {
    EXPECT_EQ(dataset->read(place).conversation_id, id);
  }
}

TEST(DatasetBuilder, TakesPromptsAloneToBeCut) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", R"({"id":"p","prompt":"abcdefgh"})"
                                 "\n"
                                 R"({"id":"t","text":"ijklmnop"})"
                                 "\n"
                                 R"({"id":"m","messages":[{"role":"user","content":"qrstuvwx"}]})"
                                 "\n");
  BuildConfig build = config(folder, "out");
  build.examples_per_conversation = 3;
  EXPECT_EQ(build_dataset(build, FakeTokenizer(), {}).manifest.at("num_records"), 9);
  const auto dataset = open_dataset(build.output);
  std::set<std::string> ids;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    const RecordSize size = dataset->size_of(i);
    EXPECT_EQ(size.tokens, size.prompt_length);
    ids.insert(dataset->read(i).conversation_id);
  }
  EXPECT_EQ(ids, (std::set<std::string>{"m", "p", "t"}));
  BuildConfig whole = config(folder, "whole");
  whole.law = ExampleLaw::kWhole;
  expect_user_error([&] { build_dataset(whole, FakeTokenizer(), {}); },
                    {"3 of 3 rows were dropped: they have no answer", "law: truncated"});
}

TEST(DatasetBuilder, RowsWithoutMessagesAreNamed) {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {R"({"question":"q"})", R"(no list "conversation", "messages" or "conversations")"},
           {R"({"messages":"q"})", R"("messages" is a text, not a list)"},
           {R"({"messages":7})", R"("messages" is no list)"},
           {R"({"conversations":["q"]})", R"(a message of "conversations" is no object)"},
           {R"({"prompt":7})", R"("prompt" has the wrong type)"}}) {
    const TemporaryFolder folder;
    write_file(folder / "a.jsonl", text + "\n");
    expect_user_error([&] { build_dataset(config(folder, "out"), FakeTokenizer(), {}); },
                      {"a.jsonl:1: ", fault});
  }
  BuildConfig list = config(TemporaryFolder(), "out");
  const TemporaryFolder folder;
  write_file(folder / "a.json", "[]");
  list.sources = {(folder / "a.json").string()};
  expect_user_error([&] { build_dataset(list, FakeTokenizer(), {}); },
                    {"a.json: ", ".jsonl", "jq"});
}

TEST(DatasetBuilder, SaysWhyNothingIsLeft) {
  const TemporaryFolder folder;
  std::string rows = row("german", {"q", "a"});
  rows.replace(rows.find("English"), 7, "Finnish");
  for (const char* text : {"b", "c", "d"}) {
    rows += Json{{"messages", Json::array({{{"role", "user"}, {"content", text}},
                                           {{"role", "assistant"}, {"content", "a"}}})}}
                .dump() +
            "\n";
  }
  write_file(folder / "a.jsonl", rows);
  BuildConfig build = config(folder, "out");
  build.filters.languages = {"English"};
  expect_user_error(
      [&] { build_dataset(build, FakeTokenizer(), {}); },
      {"a.jsonl: the dataset would be empty: 3 of 4 rows were dropped by filters.languages: they "
       "have "
       "no \"language\"; 1 of 4 rows was dropped by filters.languages: they have another"});
  EXPECT_FALSE(fs::exists(build.output));
}

TEST(DropLines, CountRowsOrExamplesTheMostFirst) {
  Json dropped = Json::object();
  for (const std::string& name : drop_names()) dropped[name] = 0;
  dropped["wrong_roles"] = 2;
  dropped["max_tokens"] = 7;
  const Json counters = {{"rows_read", 10},
                         {"bad_rows", 1},
                         {"dropped", dropped},
                         {"held_out_records", 3},
                         {"records", 21}};
  EXPECT_EQ(drop_lines(counters, 4),
            (std::vector<std::string>{
                "2 of 10 rows were dropped: they do not begin with the user, or user and assistant "
                "do not take turns",
                "7 of 40 examples were dropped by filters.max_tokens: they are longer",
                "1 of 10 rows was skipped (skip_bad_rows): they cannot be read",
                "3 of 40 examples were held out by held_out.fraction"}));
}

TEST(DatasetBuilder, HeldOutPromptsNeverAppear) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl",
             row("exact", {"Where is the bank?", "There."}) +
                 row("normal", {"where is  the BANK", "There."}) +
                 row("history", {"hello", "hi", "Where is the bank?", "There."}) +
                 row("free", {"Where is the bar?", "There."}));
  const fs::path prompts = folder / "prompts.json";
  write_file(prompts, R"({"Where is the bank?": []})");
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  build.held_out.files = {prompts.string()};
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  EXPECT_EQ(counters.at("dropped").at("held_out_exact"), 2);
  EXPECT_EQ(counters.at("dropped").at("held_out_normalised"), 1);
  const auto dataset = open_dataset(build.output);
  ASSERT_EQ(dataset->size(), 1);
  EXPECT_EQ(dataset->read(0).conversation_id, "free");
}

TEST(DatasetBuilder, NearCopiesOfHeldOutPromptsAreDropped) {
  const std::string held_out = "Could you tell me where the next bank around here is, please?";
  const TemporaryFolder folder;
  write_file(
      folder / "a.jsonl",
      row("other", {"Could you show me where the next bank around here is?", "There."}) +
          row("word", {"could you tell me where the next bar around here is, please", "x"}) +
          row("fewer", {"Could you tell me where the next bank is around, please?", "x"}) +
          row("more",
              {"Hey, could you tell me where the next bank around here is please?", "There."}) +
          row("moved", {"Please could you tell me where the next bank around here is?", "There."}) +
          row("short", {"Where is the bar?", "There."}));
  const fs::path prompts = folder / "prompts.json";
  write_file(prompts, Json{{held_out, 0}, {"Where is the bank?", 0}}.dump());
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  build.held_out.files = {prompts.string()};
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  // Two words of "other" are others; "fewer" lacks one and another one has moved.
  EXPECT_EQ(counters.at("dropped").at("held_out_near"), 3);
  const auto dataset = open_dataset(build.output);
  std::set<std::string> kept;
  for (int64_t i = 0; i < dataset->size(); ++i) kept.insert(dataset->read(i).conversation_id);
  EXPECT_EQ(kept, (std::set<std::string>{"other", "fewer", "short"}));
}

TEST(DatasetBuilder, AConversationIsTrainedOnOnce) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl",
             row("first", {"Where is the bank?", "It is there."}) +
                 row("same", {"where is  the BANK", "It is there!"}) +
                 row("answer", {"Where is the bank?", "Here."}) +
                 row("longer", {"Where is the bank?", "It is there.", "x", "y"}) +
                 row("again", {"Where is the bank?", "It is there."}) +
                 row("sun", {"\u2600", "It is there."}) + row("rain", {"\u2602", "It is there."}));
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  const Json counters = build_dataset(build, FakeTokenizer(), {}).manifest.at("counters");
  EXPECT_EQ(counters.at("dropped").at("duplicate"), 2);
  EXPECT_EQ(counters.at("records"), 5);
  const auto dataset = open_dataset(build.output);
  for (const auto& [place, id] :
       {std::pair(0, "first"), {1, "answer"}, {2, "longer"}, {3, "sun"}, {4, "rain"}}) {
    EXPECT_EQ(dataset->read(place).conversation_id, id);
  }
}

TEST(DatasetBuilder, HoldsOutAFraction) {
  const TemporaryFolder folder;
  std::string rows = many_rows(400);
  write_file(folder / "a.jsonl", rows);
  BuildConfig build = config(folder, "out");
  build.law = ExampleLaw::kWhole;
  build.held_out.fraction = 0.25;
  const BuildResult result = build_dataset(build, FakeTokenizer(), {});
  const auto train = open_dataset(build.output);
  const auto held_out = open_dataset(build.output / "held_out");
  EXPECT_EQ(train->size() + held_out->size(), 400);
  EXPECT_EQ(held_out->size(), 100);
  std::set<std::string> ids;
  for (int64_t i = 0; i < train->size(); ++i) ids.insert(train->read(i).conversation_id);
  for (int64_t i = 0; i < held_out->size(); ++i) {
    EXPECT_FALSE(ids.contains(held_out->read(i).conversation_id));
  }
  EXPECT_TRUE(build_dataset(build, FakeTokenizer(), {}).already_complete);
}

CorpusConversation asked(const std::string& id) {
  CorpusConversation conversation;
  conversation.id = id;
  conversation.messages.push_back({"user", "q"});
  return conversation;
}

TEST(HeldOutShare, IsAShareOfFewRowsWhateverTheirIds) {
  for (const auto& [rows, fraction, expected] :
       {std::tuple(30, 0.1, 3), {30, 0.05, 2}, {30, 1e-9, 1}, {4, 0.9, 3}, {1, 0.5, 0}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      HeldOutShare share(seed, fraction);
      std::vector<CorpusConversation> all;
      for (int i = 0; i < rows; ++i) {
        all.push_back(asked(std::to_string(i)));
        EXPECT_TRUE(share.count(all.back()));
        CorpusConversation broken = asked("broken");
        broken.fault = Drop::kToolCalls;
        share.count(broken);
      }
      share.decide();
      EXPECT_EQ(std::ranges::count_if(all, [&](const auto& one) { return share.holds(one); }),
                expected)
          << rows << " " << fraction << " " << seed;
    }
  }
}

TEST(HeldOutShare, ManyRowsAreDrawnOneByOne) {
  HeldOutShare share(3, 0.1);
  const auto one = [](size_t i) { return asked(std::to_string(i)); };
  size_t count = 1;
  while (share.count(one(count))) ++count;
  EXPECT_EQ(count, HeldOutShare::kFew);
  share.decide();
  HeldOutShare unseen(3, 0.1);
  unseen.decide();
  for (size_t i = 0; i < 3000; ++i) EXPECT_EQ(share.holds(one(i)), unseen.holds(one(i)));
}

TEST(NormalisePrompt, FoldsCasePunctuationAndSpace) {
  EXPECT_EQ(normalise_prompt("  What's  the\tTIME, please?! "), "whats the time please");
  EXPECT_EQ(normalise_prompt("ÜBER größe"), normalise_prompt("über GRÖSSE."));
  EXPECT_NE(normalise_prompt("C++ 11"), normalise_prompt("C 12"));
  EXPECT_EQ(normalise_prompt("?!"), "");
}

}  // namespace
}  // namespace predgen::data
