#include "act/tool.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::act {
namespace {

TEST(Tool, CanonicalArgumentsAreSortedAtAllDepths) {
  EXPECT_EQ(canonical_arguments(R"( {"b": [ {"y": 1, "x": 2} ], "a": {"d": 1, "c": "ü"}} )"),
            R"({"a":{"c":"ü","d":1},"b":[{"x":2,"y":1}]})");
  EXPECT_NE(canonical_arguments(R"({"a":[1,2]})"), canonical_arguments(R"({"a":[2,1]})"));
}

TEST(Tool, NamesAreMadePlain) {
  EXPECT_EQ(plain_name("get weather/ü"), "get_weather___");
  EXPECT_EQ(plain_name(std::string(100, 'x')).size(), 64u);
}

TEST(Tool, EffectsHaveNames) {
  for (const auto effects :
       {Effects::kRead, Effects::kIdempotent, Effects::kWrites, Effects::kDestructive}) {
    EXPECT_EQ(parse_effects(to_string(effects), ""), effects);
  }
  expect_user_error([] { parse_effects("reads", "tools.x.effects"); },
                    {"tools.x.effects", "\"read\""});
}

TEST(Tool, AreShownToTheTemplate) {
  const ToolSet set = tool_set({{.name = "lamp", .description = "Lights."}});
  EXPECT_EQ(set.names, std::vector<std::string>{"lamp"});
  EXPECT_EQ(set.json, R"([{"type":"function","function":{"name":"lamp","description":"Lights.",)"
                      R"("parameters":{"type":"object"}}}])");
  EXPECT_TRUE(tool_set({}).empty());
}

TEST(Tool, SetsComeTogether) {
  ToolSet first = tool_set({{.name = "lamp"}});
  first.strict = {"lamp"};
  const ToolSet both = together(first, tool_set({{.name = "oven"}}));
  ToolSet expected = tool_set({{.name = "lamp"}, {.name = "oven"}});
  expected.strict = {"lamp"};
  EXPECT_EQ(both, expected);
  EXPECT_EQ(together({}, first), first);
  EXPECT_EQ(together(first, {}), first);
}

}  // namespace
}  // namespace predgen::act
