#include "core/config.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

enum class Verifier { kOff, kGreedy, kTopK };

struct Example {
  std::filesystem::path output = "runs";
  std::string name = "run";
  int64_t seed = 0;
  double rate = 0.1;
  bool resume = true;
  std::vector<std::string> targets{"q", "v"};
  std::vector<int64_t> sizes;
  std::vector<std::pair<std::string, int64_t>> ranks{{"q", 4}};
  std::vector<std::pair<std::string, double>> alphas;
  Verifier verifier = Verifier::kGreedy;
  int64_t rank = 8;
  double dropout = 0;
};

/// Reads every kind of value there is.
Example read_example(ConfigReader& reader) {
  Example example;
  reader.optional("output", example.output);
  reader.optional("name", example.name);
  reader.optional("seed", example.seed);
  reader.optional("rate", example.rate);
  reader.optional("resume", example.resume);
  reader.optional("targets", example.targets);
  reader.optional("sizes", example.sizes);
  reader.optional("ranks", example.ranks);
  reader.optional("alphas", example.alphas);
  reader.choice(
      "verifier", example.verifier,
      {{"off", Verifier::kOff}, {"greedy", Verifier::kGreedy}, {"topk", Verifier::kTopK}});
  ConfigReader lora = reader.section("lora");
  lora.optional("rank", example.rank, int64_t{1}, int64_t{1024});
  lora.optional("dropout", example.dropout, 0.0, 1.0);
  return example;
}

Example read(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  ConfigReader reader = ConfigReader::parse(yaml, "run.yaml", overrides);
  Example example = read_example(reader);
  reader.finish();
  return example;
}

/// The message of the UserError, or "" if nothing was wrong.
std::string error_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  try {
    read(yaml, overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, KeepsDefaultsOfAbsentKeys) {
  const Example example = read("seed: 7");
  EXPECT_EQ(example.seed, 7);
  EXPECT_EQ(example.rate, 0.1);
  EXPECT_THAT(example.targets, ElementsAre("q", "v"));
  EXPECT_EQ(example.rank, 8);
}

TEST(Config, ReadsEveryType) {
  const Example example = read(R"(
output: out/x
name: "say: hi # there"
seed: -12
rate: 2e-5
resume: false
targets: [a, "b c"]
sizes:
  - 1
  - 20
verifier: topk
lora: {rank: 16, dropout: 0.5}
)");
  EXPECT_EQ(example.output, "out/x");
  EXPECT_EQ(example.name, "say: hi # there");
  EXPECT_EQ(example.seed, -12);
  EXPECT_EQ(example.rate, 2e-5);
  EXPECT_FALSE(example.resume);
  EXPECT_THAT(example.targets, ElementsAre("a", "b c"));
  EXPECT_THAT(example.sizes, ElementsAre(1, 20));
  EXPECT_EQ(example.verifier, Verifier::kTopK);
  EXPECT_EQ(example.rank, 16);
  EXPECT_EQ(example.dropout, 0.5);
}

TEST(Config, UnknownKeyNamesLineAndNearestKey) {
  EXPECT_EQ(error_of("seed: 1\nlora:\n  rnak: 3\n"),
            "run.yaml:3: unknown key \"lora.rnak\"; did you mean \"rank\"?");
  EXPECT_THAT(error_of("a_key_like_no_other: 1"), HasSubstr("valid here: output, name, seed"));
}

TEST(Config, DuplicateKeys) {
  EXPECT_EQ(error_of("seed: 1\nname: x\nseed: 2\n"),
            "run.yaml:3: duplicate key \"seed\" (first in line 1); remove one");
  EXPECT_THAT(error_of("lora:\n  rank: 1\n  rank: 1\n"),
              HasSubstr("run.yaml:3: duplicate key \"lora.rank\""));
  EXPECT_THAT(error_of("lora: {rank: 1}\nlora: {rank: 2}\n"),
              HasSubstr("run.yaml:2: duplicate key \"lora\""));
  EXPECT_THAT(error_of("targets:\n- name: a\n  name: b\n"),
              HasSubstr("run.yaml:3: duplicate key \"targets[0].name\""));
}

TEST(Config, WrongTypes) {
  for (const char* bad : {"010", "1_000", "0x10", "+5", "1.0", "1e3", "\"7\"", "yes", "", "[1]",
                          "{a: 1}", "99999999999999999999", "--1", "007", "~"}) {
    EXPECT_THAT(error_of(std::string("seed: ") + bad),
                HasSubstr("run.yaml:1: \"seed\" must be an integer"))
        << bad;
  }
  for (const char* bad : {"010.5", "1_0.5", "0x1p3", ".inf", "nan", "inf", "1e999", "\"0.5\"",
                          "abc", "1.2.3", "e5", "-010"}) {
    EXPECT_THAT(error_of(std::string("rate: ") + bad), HasSubstr("\"rate\" must be a number"))
        << bad;
  }
  for (const char* good : {"1", "0", "-0.5", "1E3", "0.125", ".5", "-1"}) {
    EXPECT_EQ(error_of(std::string("rate: ") + good), "") << good;
  }
  for (const char* bad : {"yes", "on", "True", "1", "\"true\""}) {
    EXPECT_THAT(error_of(std::string("resume: ") + bad), HasSubstr("must be true or false")) << bad;
  }
  EXPECT_THAT(error_of("name: [a]"), HasSubstr("\"name\" must be text, not a list"));
  EXPECT_THAT(error_of("name:"), HasSubstr("\"name\" must be text, not nothing"));
  EXPECT_THAT(error_of("targets: q"), HasSubstr("must be a list such as [a, b], not q"));
  EXPECT_THAT(error_of("sizes:\n  - 1\n  - x\n"),
              HasSubstr("run.yaml:3: \"sizes[1]\" must be an integer"));
  EXPECT_THAT(error_of("lora: 3"), HasSubstr("\"lora\" must be a mapping, not 3"));
  EXPECT_THAT(error_of("targets: {name: a}"),
              HasSubstr("must be a list such as [a, b], not a mapping"));
  EXPECT_THAT(error_of("targets: [{name: a}]"),
              HasSubstr("\"targets[0]\" must be text, not a mapping"));
}

TEST(Config, KeepsTextThatLooksLikeANumber) { EXPECT_EQ(read("name: 010").name, "010"); }

TEST(Config, BoundsAreInclusive) {
  EXPECT_EQ(read("lora: {rank: 1}").rank, 1);
  EXPECT_EQ(read("lora: {rank: 1024}").rank, 1024);
  EXPECT_EQ(error_of("lora: {rank: 0}"),
            "run.yaml:1: \"lora.rank\" must be between 1 and 1024, not 0");
  EXPECT_THAT(error_of("lora: {dropout: 1.5}"), HasSubstr("must be between 0 and 1, not 1.5"));
}

TEST(Config, AValueOutOfBoundsKeepsTheDefault) {
  ConfigReader reader = ConfigReader::parse("size: 0", "run.yaml");
  int64_t size = 4;
  reader.optional("size", size, int64_t{1}, int64_t{8});
  EXPECT_EQ(size, 4) << "until finish() throws, callers may divide by it";
}

TEST(Config, OneSidedBounds) {
  ConfigReader reader = ConfigReader::parse("a: 0\nb: 5\n", "run.yaml");
  int64_t a = 1;
  double b = 0;
  reader.optional("a", a, int64_t{1}, std::numeric_limits<int64_t>::max());
  reader.optional("b", b, -std::numeric_limits<double>::infinity(), 2.0);
  try {
    reader.finish();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("\"a\" must be at least 1"), HasSubstr("\"b\" must be at most 2")));
  }
}

TEST(Config, ChoiceNamesTheChoices) {
  EXPECT_EQ(error_of("verifier: gredy"),
            "run.yaml:1: \"verifier\" is not one of off, greedy, topk: gredy (did you mean "
            "\"greedy\"?)");
  EXPECT_THAT(error_of("verifier: [off]"), HasSubstr("must be one of off, greedy, topk"));
}

TEST(Config, RequiredKeys) {
  ConfigReader reader = ConfigReader::parse("seed: 1\nlora:\n  rank: 2\n", "run.yaml");
  ConfigReader lora = reader.section("lora");
  int64_t seed = 0, rank = 0, alpha = 0;
  reader.required("seed", seed);
  lora.required("rank", rank);
  lora.required("alpha", alpha);
  try {
    reader.finish();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "run.yaml:2: \"lora.alpha\" is missing");
  }
  EXPECT_EQ(rank, 2);
}

TEST(Config, MappingsWithKeysOfTheUser) {
  const auto pairs = [](const auto&... pair) { return ElementsAre(testing::Pair(pair...)); };
  EXPECT_THAT(read("ranks: {k.v: 2}").ranks, pairs("k.v", 2));
  EXPECT_THAT(read("ranks: {}").ranks, testing::IsEmpty());
  EXPECT_THAT(read("seed: 1", {"ranks={'up|down': 3}"}).ranks, pairs("up|down", 3));
  EXPECT_EQ(error_of("ranks: [4]"),
            "run.yaml:1: \"ranks\" must be a mapping such as {a: 1, b: 2}, not a list");
  EXPECT_EQ(error_of("ranks:\n  q: 1.5\n"),
            "run.yaml:2: \"ranks.q\" must be an integer such as 10 or 1000, not 1.5");
}

TEST(Config, TellsASingleValueFromAList) {
  const ConfigReader reader = ConfigReader::parse("a: 1\nb: [1]\nc: {d: 1}\n", "run.yaml");
  EXPECT_TRUE(reader.is_single("a"));
  for (const char* key : {"b", "c", "none"}) EXPECT_FALSE(reader.is_single(key)) << key;
}

TEST(Config, ReportsEverythingAtOnceInTheOrderOfLines) {
  const std::string message =
      error_of("unkown: 1\nseed: x\nseed: 2\nlora:\n  dropout: 7\n", {"rate=fast", "nonsense"});
  EXPECT_THAT(message, testing::ContainsRegex(
                           "^run.yaml:1: unknown[^\n]*\nrun.yaml:2: [^\n]*\nrun.yaml:3: duplicate"
                           "[^\n]*\nrun.yaml:5: [^\n]*\noverride[^\n]*\noverride[^\n]*$"));
}

TEST(Config, AFileOfAnotherKindIsOneProblem) {
  EXPECT_EQ(error_of("model: m\nturns: 3\nclock: c\nseed: x\n"),
            "run.yaml: 3 of its 4 keys are unknown here (model, turns, ..): is it for another "
            "command?");
  EXPECT_THAT(error_of("model: m\nturns: 3\nclock: c\nseed: x\nname: n\nrate: 1\nresume: true\n"
                       "output: o\nsizes: [1]\n"),
              HasSubstr("run.yaml:1: unknown key \"model\""));
  EXPECT_THAT(error_of("seed: 1\n", {"a=1", "b=2", "c=3", "d=4"}), HasSubstr("unknown key \"d\""));
}

TEST(Config, KeysOfAnUnknownKindAreNoProblem) {
  ConfigReader reader = ConfigReader::parse("objective: {kind: x, weight: 1}\n", "run.yaml");
  ConfigReader objective = reader.section("objective");
  int kind = 1;
  objective.choice<int>("kind", kind, {{"first", 1}, {"second", 2}});
  try {
    reader.finish();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("run.yaml:1: \"objective.kind\" is not one of"));
    EXPECT_THAT(error.what(), Not(HasSubstr("weight")));
  }
}

TEST(Config, ManyProblemsAreCounted) {
  std::string list = "sizes: [x";
  for (int i = 0; i < 11; ++i) list += ", x";
  const std::string message = error_of(list + "]\n");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 7);
  EXPECT_THAT(message, testing::EndsWith("\nrun.yaml: and 5 more like these"));
}

TEST(Config, ProblemsOfTheCaller) {
  ConfigReader reader = ConfigReader::parse("x: 1\nseed: 3\n", "run.yaml");
  int64_t value = 0;
  reader.optional("x", value);
  reader.optional("seed", value);
  reader.problem("seed", "must be even");
  try {
    reader.finish();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "run.yaml:2: \"seed\" must be even");
  }
}

TEST(Config, Overrides) {
  const Example example = read("seed: 1\nlora: {rank: 2}\nsizes: [1, 2]\n",
                               {"seed=7", "lora.rank=4", "lora.dropout=0.25", "name=a=b: c # d",
                                "targets=[x, y]", "sizes.1=9", "output="});
  EXPECT_EQ(example.seed, 7);
  EXPECT_EQ(example.rank, 4);
  EXPECT_EQ(example.dropout, 0.25);
  EXPECT_EQ(example.name, "a=b: c # d") << "split at the first '=', the rest as it stands";
  EXPECT_THAT(example.targets, ElementsAre("x", "y"));
  EXPECT_THAT(example.sizes, ElementsAre(1, 9));
  EXPECT_EQ(example.output, "");
}

TEST(Config, OverridesMayAddSectionsAndTheLastOneWins) {
  EXPECT_EQ(read("seed: 1", {"lora.rank=3", "lora.rank=5"}).rank, 5);
  EXPECT_EQ(read("lora:\nseed: 1", {"lora.rank=3"}).rank, 3);
  EXPECT_EQ(read("seed: 1", {"lora={rank: 9}"}).rank, 9);
}

TEST(Config, AnOverrideOfNullTakesAKeyOut) {
  EXPECT_EQ(read("seed: 7\nrate: 0.5\nname: x", {"seed=null", "rate="}).seed, Example().seed);
  EXPECT_EQ(read("seed: 7\nrate: 0.5\nname: x", {"seed=null", "rate="}).rate, 0.1);
  EXPECT_EQ(read("name: x", {"name="}).name, "");
  EXPECT_EQ(read("lora: {rank: 3}", {"lora.rank=null"}).rank, 8);
  EXPECT_EQ(read("targets: [a]", {"targets=null"}).targets, Example().targets);
  EXPECT_THAT(error_of("seed: 1", {"sede=null"}), HasSubstr("unknown key \"sede\""));
}

TEST(Config, OldNamesAreReadAndAnOverrideCountsMore) {
  const auto seed = [](const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    ConfigReader reader = ConfigReader::parse(yaml, "test.yaml", overrides);
    reader.accept_old_name("start", "seed");
    int64_t value = 0;
    reader.optional("seed", value);
    reader.finish();
    EXPECT_EQ(reader.resolved(), "seed: " + std::to_string(value) + "\n");
    return value;
  };
  EXPECT_EQ(seed("start: 7"), 7);
  EXPECT_EQ(seed("seed: 7"), 7);
  EXPECT_EQ(seed("start: 7", {"seed=8"}), 8);
  EXPECT_EQ(seed("seed: 7", {"start=8"}), 8);
  expect_user_error([&] { seed("seed: 7\nstart: 8"); }, {"test.yaml:2", "start", "seed"});
  expect_user_error([&] { seed("start: x"); }, {"test.yaml:1", "start", "x"});
}

TEST(Config, BadOverrides) {
  EXPECT_THAT(error_of("seed: 1", {"seed"}), HasSubstr("override \"seed\": write it as key=value"));
  EXPECT_THAT(error_of("seed: 1", {"=3"}), HasSubstr("write it as key=value"));
  EXPECT_THAT(error_of("seed: 1", {"lora..rank=3"}), HasSubstr("write it as key=value"));
  EXPECT_THAT(error_of("seed: 1", {"lora.rnak=3"}),
              HasSubstr("override \"lora.rnak=3\": unknown key \"lora.rnak\"; did you mean"));
  EXPECT_THAT(error_of("seed: 1", {"seed=010"}),
              HasSubstr("override \"seed=010\": \"seed\" must be"));
  EXPECT_THAT(error_of("seed: 1", {"seed=\"5\""}), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("seed: 1", {"seed.x=2"}), HasSubstr("\"seed\" is a single value"));
  EXPECT_THAT(error_of("seed: 1", {"targets=[a"}), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("seed: 1", {"lora={rank: 1, rank: 2}"}),
              AllOf(HasSubstr("override"), HasSubstr("duplicate key \"lora.rank\"")));
  EXPECT_THAT(error_of("sizes: [1]", {"sizes.1=2"}), HasSubstr("is a list of 1"));
}

TEST(Config, PathsExpandVariables) {
  setenv("PREDGEN_TEST_FOLDER", "/data", 1);
  unsetenv("PREDGEN_TEST_UNSET");
  EXPECT_EQ(read("output: ${PREDGEN_TEST_FOLDER}/x").output, "/data/x");
  EXPECT_EQ(read("output: ${PREDGEN_TEST_UNSET:-../shared}/x").output, "../shared/x");
  EXPECT_EQ(read("name: ${PREDGEN_TEST_FOLDER}").name, "${PREDGEN_TEST_FOLDER}") << "text is not";
  EXPECT_THAT(error_of("seed: 1\noutput: ${PREDGEN_TEST_UNSET}/x"),
              AllOf(HasSubstr("run.yaml:2: \"output\""), HasSubstr("PREDGEN_TEST_UNSET")));
}

TEST(Config, BadFiles) {
  EXPECT_THAT(error_of(""), HasSubstr("run.yaml: is empty"));
  EXPECT_THAT(error_of("# only a comment\n"), HasSubstr("run.yaml: is empty"));
  EXPECT_THAT(error_of("- a\n- b\n"), HasSubstr("not a list"));
  EXPECT_THAT(error_of("just words"), HasSubstr("run.yaml:1: must be \"key: value\" lines"));
  EXPECT_THAT(error_of("seed: 1\nname: [a\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("seed: 1\n\tname: a\n"), HasSubstr("run.yaml:2"));
  EXPECT_THAT(error_of("seed: 1\n---\nseed: 2\n"), HasSubstr("2 YAML documents"));
  EXPECT_THAT(error_of("seed: 1\n[a, b]: 2\n"), HasSubstr("a key must be a word"));
  EXPECT_THAT(error_of("lora: &a {x: *a}\n"), Not(testing::IsEmpty()));
  EXPECT_THROW(ConfigReader::load("/no/such/file.yaml"), UserError);
  EXPECT_THROW(ConfigReader::load("/tmp"), UserError);
}

TEST(Config, LoadNamesTheFile) {
  const std::string file = testing::TempDir() + "predgen_config_test.yaml";
  std::ofstream(file) << "sed: 1\n";
  ConfigReader reader = ConfigReader::load(file);
  read_example(reader);
  try {
    reader.finish();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(file + ":1: unknown key \"sed\"; did you mean \"seed\"?"));
  }
}

TEST(Config, HasDoesNotCountAsReading) {
  ConfigReader reader = ConfigReader::parse("extra: 1", "run.yaml");
  EXPECT_TRUE(reader.has("extra"));
  EXPECT_FALSE(reader.has("other"));
  EXPECT_THROW(reader.finish(), UserError);
}

TEST(Config, ASectionMayBeReadInTwoPlaces) {
  ConfigReader reader = ConfigReader::parse("lora: {rank: 3, dropout: 0.5}", "run.yaml");
  int64_t rank = 0;
  double dropout = 0;
  reader.section("lora").optional("rank", rank);
  reader.section("lora").optional("dropout", dropout);
  reader.finish();
  EXPECT_EQ(rank, 3);
  EXPECT_EQ(dropout, 0.5);
}

TEST(Config, ResolvedHoldsEverythingAndReadsBackTheSame) {
  ConfigReader reader = ConfigReader::parse(
      "seed: 1\nrate: 0.30000000000000004\nname: \"a \\\"b\\\"\\n\"\nalphas: {'z.\\d': 0.5, a: "
      "3}\n",
      "run.yaml", {"lora.rank=5"});
  read_example(reader);
  const std::string resolved = reader.resolved();
  EXPECT_EQ(resolved, R"(output: "runs"
name: "a \"b\"\n"
seed: 1
rate: 0.30000000000000004
resume: true
targets: ["q", "v"]
sizes: []
ranks: {"q": 4}
alphas: {"z.\\d": 0.5, "a": 3}
verifier: "greedy"
lora:
  rank: 5
  dropout: 0
)");
  ConfigReader again = ConfigReader::parse(resolved, "resolved.yaml");
  const Example example = read_example(again);
  again.finish();
  EXPECT_EQ(again.resolved(), resolved);
  EXPECT_EQ(example.rate, 0.30000000000000004);
  EXPECT_EQ(example.name, "a \"b\"\n");
}

TEST(Config, ValuesHoldEverythingByFullKey) {
  ConfigReader reader = ConfigReader::parse("seed: 1\n", "run.yaml", {"lora.rank=5"});
  read_example(reader);
  const std::map<std::string, std::string> values = reader.values();
  EXPECT_EQ(values.at("seed"), "1");
  EXPECT_EQ(values.at("targets"), "[\"q\", \"v\"]");
  EXPECT_EQ(values.at("verifier"), "\"greedy\"");
  EXPECT_EQ(values.at("lora.rank"), "5");
  EXPECT_EQ(values.at("lora.dropout"), "0");
  EXPECT_EQ(values.at("ranks"), "{\"q\": 4}");
  EXPECT_EQ(values.size(), 12u);
}

}  // namespace
}  // namespace predgen
