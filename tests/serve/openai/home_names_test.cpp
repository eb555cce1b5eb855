#include "serve/openai/home_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// As PyYAML writes it: long scalars go on in the next line, and others are quoted.
const std::string kPrompt = R"(You run a home.
Static Context: An overview of the areas and the devices in this smart home:
- names: Kitchen Light, Spots
  domain: light
  areas: Kitchen
- names: '1'
  domain: switch
- names: 'Ann''s lamp: left'
  domain: light
  state: 'on'
  areas: Living Room, Lounge
  attributes:
    brightness: '3'
- names: "Caf\u00e9 \"Eck\""
  domain: cover
- names: A name of a blind that is so long that it goes on
    below, Blind
  domain: cover
  areas: Küche

names: not one
- a list of others
)";

TEST(HomeNames, AreThoseOfThePromptsList) {
  const HomeNames names = read_home_names(kPrompt);
  EXPECT_THAT(names.devices,
              ElementsAre("Kitchen Light", "Spots", "1", "Ann's lamp: left", "Café \"Eck\"",
                          "A name of a blind that is so long that it goes on below", "Blind"));
  EXPECT_THAT(names.areas, ElementsAre("Kitchen", "Living Room", "Lounge", "Küche"));
  EXPECT_THAT(names.domains, ElementsAre("light", "switch", "cover"));
  for (const char* none : {"", "\n", "- ", "- names:", "Hello.\n", "- names: \n  domain: "}) {
    EXPECT_THAT(read_home_names(none).devices, IsEmpty()) << none;
  }
}

ToolSet tools() {
  const Json text{{"type", "string"}}, texts{{"type", "array"}, {"items", text}};
  Json list = Json::array();
  for (const char* name :
       {"HassTurnOn", "assist__HassTurnOff", "HassStartTimer", "GetLiveContext", "greet"}) {
    const Json domain =
        std::string(name) == "GetLiveContext" ? Json{{"anyOf", Json::array({text, texts})}} : texts;
    list.push_back(
        {{"type", "function"},
         {"function",
          {{"name", name},
           {"parameters",
            {{"type", "object"},
             {"properties",
              {{"name", text}, {"area", text}, {"floor", text}, {"domain", domain}}}}}}}});
  }
  return {.json = list.dump(), .names = {"HassTurnOn"}};
}

TEST(HomeNames, AreAllThatHomeAssistantsFunctionsTake) {
  const std::vector<Message> messages{{.role = "system", .content = "- names: A\n  domain: light"},
                                      {.role = "user", .content = "- names: B"},
                                      {.role = "system", .content = "- names: C\n  areas: D"}};
  const Json list = Json::parse(with_home_names(tools(), messages).json);
  const auto parameters = [&](size_t i) { return list[i]["function"]["parameters"]; };
  for (const size_t i : {0, 1, 3}) {
    const Json properties = parameters(i)["properties"];
    EXPECT_EQ(properties["name"]["enum"], Json::array({"A", "C"})) << i;
    EXPECT_EQ(properties["area"]["enum"], Json::array({"D"})) << i;
    EXPECT_FALSE(properties["floor"].contains("enum")) << i;
    EXPECT_EQ(parameters(i)["additionalProperties"], false) << i;
  }
  EXPECT_EQ(parameters(0)["properties"]["domain"]["items"]["enum"], Json::array({"light"}));
  for (const Json& domain : parameters(3)["properties"]["domain"]["anyOf"]) {
    EXPECT_EQ((domain.contains("items") ? domain["items"] : domain)["enum"],
              Json::array({"light"}));
  }
  Json before = Json::parse(tools().json);
  before[2]["function"]["parameters"]["additionalProperties"] = false;
  for (const size_t i : {2, 4}) EXPECT_EQ(list[i], before[i]) << "a timer, or another's";
}

TEST(HomeNames, AreFreeWithoutAList) {
  EXPECT_EQ(with_home_names(tools(), {{.role = "system", .content = "Hello."}}), tools());
  EXPECT_EQ(with_home_names({}, {{.role = "system", .content = kPrompt}}), ToolSet());
}

}  // namespace
}  // namespace predgen::serve
