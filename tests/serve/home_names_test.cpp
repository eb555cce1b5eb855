#include "serve/home_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace predgen::serve {
namespace {

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
  const std::vector<HomeDevice> home = read_home(kPrompt);
  ASSERT_EQ(home.size(), 5u);
  EXPECT_EQ(home[0], (HomeDevice{{"Kitchen Light", "Spots"}, "light", {"Kitchen"}}));
  EXPECT_EQ(home[1], (HomeDevice{{"1"}, "switch", {}}));
  EXPECT_EQ(home[2], (HomeDevice{{"Ann's lamp: left"}, "light", {"Living Room", "Lounge"}}));
  EXPECT_EQ(home[3], (HomeDevice{{"Café \"Eck\""}, "cover", {}}));
  EXPECT_EQ(home[4],
            (HomeDevice{{"A name of a blind that is so long that it goes on below", "Blind"},
                        "cover",
                        {"Küche"}}));
  for (const char* none : {"", "\n", "- ", "- names:", "Hello.\n",
                           "- names: \n  domain: ", "- other: A\n  names: B"}) {
    EXPECT_THAT(read_home(none), IsEmpty()) << none;
  }
}

const Json kText{{"type", "string"}};

Json function(const std::string& name, const Json& more = Json::object()) {
  Json properties{{"name", kText},
                  {"area", kText},
                  {"floor", kText},
                  {"domain", {{"type", "array"}, {"items", kText}}}};
  properties.update(more);
  return {{"type", "function"},
          {"function",
           {{"name", name}, {"parameters", {{"type", "object"}, {"properties", properties}}}}}};
}

/// The ways to call a function in a home.
Json ways(const Json& function, const std::string& home) {
  const ToolSet tools{.json = Json::array({function}).dump(), .names = {"f"}};
  const ToolSet named = with_home_names(
      tools, {{.role = "system", .content = home}, {.role = "user", .content = "- names: B"}});
  return Json::parse(named.json)[0]["function"]["parameters"]["anyOf"];
}

const std::string kHome = R"(
- names: Lamp, Spot
  domain: light
  areas: Den
- names: Fan
  domain: fan
  areas: Hall
- names: Meter
  domain: sensor
- names: Dusty
  domain: vacuum
)";

TEST(HomeNames, OrAnAreaWithItsDomainSayWhatIsMeant) {
  const Json two = ways(function("assist__HassTurnOn"), kHome);
  ASSERT_EQ(two.size(), 2u) << two;
  for (const Json& way : two) EXPECT_EQ(way["additionalProperties"], false);
  EXPECT_EQ(two[0]["properties"].size(), 1u) << "neither a sensor nor a vacuum can be switched";
  EXPECT_EQ(two[0]["properties"]["name"]["enum"], Json({"Lamp", "Spot", "Fan"}));
  EXPECT_EQ(two[0]["required"], Json::array({"name"}));
  EXPECT_EQ(two[1]["properties"].size(), 2u);
  EXPECT_EQ(two[1]["properties"]["area"]["enum"], Json({"Den", "Hall"}));
  EXPECT_EQ(two[1]["properties"]["domain"]["items"]["enum"], Json({"light", "fan"}));
  EXPECT_EQ(two[1]["properties"]["domain"]["minItems"], 1);
  EXPECT_EQ(two[1]["required"], Json({"area", "domain"}));
}

TEST(HomeNames, AreOfDevicesThatTheFunctionIsFor) {
  const Json percent{{"type", "integer"}};
  Json set = function("HassLightSet", {{"brightness", percent}});
  set["function"]["parameters"]["required"] = Json::array({"brightness"});
  const Json two = ways(set, kHome);
  ASSERT_EQ(two.size(), 2u) << two;
  EXPECT_EQ(two[0]["properties"]["name"]["enum"], Json({"Lamp", "Spot"}));
  EXPECT_EQ(two[0]["properties"]["brightness"], percent);
  EXPECT_EQ(two[0]["required"], Json({"brightness", "name"}));
  EXPECT_EQ(two[1]["properties"]["area"]["enum"], Json::array({"Den"}));
  const Json looks = ways(function("GetLiveContext"), kHome);
  ASSERT_EQ(looks.size(), 3u) << looks;
  EXPECT_EQ(looks[0]["properties"]["name"]["enum"],
            Json({"Lamp", "Spot", "Fan", "Meter", "Dusty"}));
  EXPECT_EQ(looks[2]["required"], Json::array({"domain"}));
}

TEST(HomeNames, OfSeveralDevicesComeWithTheirArea) {
  const Json three = ways(function("HassTurnOn"), kHome + R"(- names: Lamp
  domain: light
  areas: Attic
)");
  ASSERT_EQ(three.size(), 3u) << three;
  EXPECT_EQ(three[0]["properties"]["name"]["enum"], Json({"Spot", "Fan"}));
  EXPECT_EQ(three[1]["properties"]["name"]["enum"], Json::array({"Lamp"}));
  EXPECT_EQ(three[1]["properties"]["area"]["enum"], Json({"Den", "Attic"}));
  EXPECT_EQ(three[1]["required"], Json({"name", "area"}));
}

TEST(HomeNames, OfAFunctionThatTheHomeHasNothingForAreFree) {
  const ToolSet vacuums{.json = Json::array({function("HassVacuumStart")}).dump(),
                        .names = {"HassVacuumStart"}};
  const std::vector<Message> home{
      {.role = "system", .content = "- names: Lamp\n  domain: light\n  areas: Den\n"}};
  for (const char* words : {"", "The lamp, please."}) {
    EXPECT_EQ(with_home_names(vacuums, home, words).names, vacuums.names) << words;
  }
}

ToolSet tools() {
  Json list = Json::array();
  for (const char* name : {"HassStartTimer", "greet"}) list.push_back(function(name));
  return {.json = list.dump(), .names = {"HassStartTimer", "greet"}};
}

TEST(HomeNames, AreNotThoseOfTimersAndOthers) {
  const Json list =
      Json::parse(with_home_names(tools(), {{.role = "system", .content = kHome}}).json);
  Json before = Json::parse(tools().json);
  before[0]["function"]["parameters"]["additionalProperties"] = false;
  EXPECT_EQ(list, before);
}

/// What each function may be called with after a user's words: names, or areas with their domains.
Json possible(const std::string& words) {
  Json list =
      Json::array({function("HassTurnOn"), function("HassLightSet"), function("HassFanSetSpeed")});
  const ToolSet named = with_home_names({.json = list.dump(),
                                         .names = {"HassTurnOn", "HassLightSet", "HassFanSetSpeed"},
                                         .strict = {"HassFanSetSpeed"}},
                                        {{.role = "system", .content = kHome}}, words);
  Json all = Json::object();
  for (const Json& tool : Json::parse(named.json)) {
    const std::string name = tool["function"]["name"].get<std::string>();
    EXPECT_EQ(std::ranges::count(named.names, name), 1) << name;
    for (const Json& way : tool["function"]["parameters"]["anyOf"]) {
      const Json& which = way["properties"];
      all[name].push_back(which.contains("name") ? which["name"]["enum"]
                                                 : Json::array({which["area"]["enum"],
                                                                which["domain"]["items"]["enum"]}));
    }
  }
  EXPECT_EQ(named.names.size(), all.size());
  EXPECT_EQ(std::ranges::count(named.strict, "HassFanSetSpeed"), all.contains("HassFanSetSpeed"));
  return all;
}

TEST(HomeNames, AreThoseThatTheUsersWordsCanMean) {
  EXPECT_EQ(possible("Could you turn the spot on?"), Json::parse(R"({
      "HassTurnOn": [["Lamp", "Spot"]], "HassLightSet": [["Lamp", "Spot"]]})"))
      << "the other device and its functions are left out";
  EXPECT_EQ(possible("Something on in the hall, please."), Json::parse(R"({
      "HassTurnOn": [["Fan"], [["Hall"], ["fan"]]], "HassFanSetSpeed": [["Fan"], [["Hall"], ["fan"]]]})"));
  EXPECT_EQ(possible("The lights in the den, please."), Json::parse(R"({
      "HassTurnOn": [[["Den"], ["light"]]], "HassLightSet": [[["Den"], ["light"]]]})"));
  EXPECT_EQ(possible("Turn everything on."), possible("")) << "nothing is named";
  EXPECT_EQ(possible("What does the meter say?"), possible("")) << "a sensor's name";
  const ToolSet fans{.json = Json::array({function("HassFanSetSpeed")}).dump(),
                     .names = {"HassFanSetSpeed"}};
  const std::vector<Message> home{{.role = "system", .content = kHome}};
  EXPECT_EQ(with_home_names(fans, home, "The lamp, please."), with_home_names(fans, home, ""))
      << "nothing can be done with it, so something else may be meant";
}

TEST(HomeNames, AreFreeWithoutAList) {
  EXPECT_EQ(with_home_names(tools(), {{.role = "system", .content = "Hello."}}), tools());
  EXPECT_EQ(with_home_names({}, {{.role = "system", .content = kPrompt}}), ToolSet());
}

}  // namespace
}  // namespace predgen::serve
