#include <gtest/gtest.h>

#include "act/tool_runner.h"

namespace predgen::act {
namespace {

const Tool kOn{.name = "on", .server = "home", .own_name = "HassTurnOn"};
const Tool kOff{.name = "off", .server = "home", .own_name = "HassTurnOff"};

std::string named(const std::string& name) { return R"({"name": ")" + name + "\"}"; }
/// As Home Assistant answers.
std::string done(const std::string& name, const std::string& id) {
  return R"({"success": [{"name": ")" + name + R"(", "id": "light.)" + id + R"("}], "failed": []})";
}

TEST(ExpectedResults, AreThoseOfTheSameCall) {
  ExpectedResults results;
  EXPECT_EQ(results.find("me", kOn, named("Hall")), std::nullopt);
  results.learn("me", kOn, named("Hall"), "on");
  results.learn("me", kOn, named("Hall"), "on already");
  results.learn("me", kOn, named("Porch"), "another");
  EXPECT_EQ(results.find("me", kOn, R"({"name":"Hall"})"), "on already");
  results.learn("me", kOn, R"({"area": "Hall", "name": "Lamp"})", "the lamp");
  results.learn("me", kOn, R"({"area": "Hall", "name": "Fan"})", "the other");
  EXPECT_EQ(results.find("me", kOn, R"({"name": "Lamp", "area": "Hall"})"), "the lamp");
}

TEST(ExpectedResults, AreAClientsOwn) {
  ExpectedResults results;
  results.learn("me", kOn, named("Hall"), "on");
  EXPECT_EQ(results.find("you", kOn, named("Hall")), std::nullopt);
}

TEST(ExpectedResults, OrThoseOfAnotherWithItsTexts) {
  ExpectedResults results;
  results.learn("me", kOn, named("Hall Lamp"), done("Hall Lamp", "hall_lamp"));
  EXPECT_EQ(results.find("me", kOn, named("Ada's Desk")), done("Ada's Desk", "ada_s_desk"));
  EXPECT_EQ(results.find("me", kOff, named("Porch")), done("Porch", "porch"));
  results.learn("me", kOff, named("Porch"), "off: Porch");
  EXPECT_EQ(results.find("me", kOff, named("Shed")), "off: Shed") << "its own tool first";
  EXPECT_EQ(results.find("me", kOn, named("Shed")), done("Shed", "shed"));
}

TEST(ExpectedResults, ReplaceTextsAsJsonHasThem) {
  ExpectedResults results;
  results.learn("me", kOn,
                named("K\xC3\xBC"
                      "che"),
                R"({"name": "K\u00fcche"})");
  EXPECT_EQ(results.find("me", kOn, named("Bad \xC3\x96st")), R"({"name": "Bad \u00d6st"})");
}

TEST(ExpectedResults, NeedTheSameNamesOfArgumentsAndServer) {
  ExpectedResults results;
  results.learn("me", kOn, R"({"name": "Hall", "brightness": 20})", "on");
  EXPECT_EQ(results.find("me", kOn, named("Hall")), std::nullopt);
  EXPECT_EQ(results.find("me", kOn, R"({"name": "Hall", "colour": 20})"), std::nullopt);
  EXPECT_EQ(results.find("me", {.name = "on", .server = "shed", .own_name = "HassTurnOn"},
                         R"({"name": "Hall", "brightness": 20})"),
            std::nullopt);
}

TEST(ExpectedResults, ReplaceNothingTwiceAndNoCrumbs) {
  ExpectedResults results;
  results.learn("me", kOn, R"({"area": "Hall", "name": "Lamp", "to": "on"})", "Hall, Lamp, one");
  EXPECT_EQ(results.find("me", kOn, R"({"area": "Lamp", "name": "Hall", "to": "off"})"),
            "Lamp, Hall, one");
  results.learn("me", kOn, R"({"domain": ["light", "fan"]})", "light and fan");
  EXPECT_EQ(results.find("me", kOn, R"({"domain": ["switch", "cover"]})"), "switch and cover");
}

TEST(ExpectedResults, AreOfEffectsAndShort) {
  ExpectedResults results;
  results.learn("me",
                {.name = "look", .server = "home", .own_name = "look", .effects = Effects::kRead},
                "{}", "on");
  results.learn("me", kOn, "{}", "on");
  results.learn("me", kOn, "{}", std::string(5000, 'x'));
  EXPECT_EQ(results.find("me", kOn, "{}"), std::nullopt) << "what it said before is old";
  for (int i = 0; i < 300; ++i)
    results.learn("me", kOn, named(std::to_string(i)), std::to_string(i % 100));
  EXPECT_EQ(results.find("me", kOn, named("299")), "99");
  EXPECT_EQ(results.find("me", kOn, named("0")), "99") << "forgotten: the last one counts";
  results.learn("me", kOn, named("abc"), std::string(1000, ' ') + "abc abc abc");
  EXPECT_EQ(results.find("me", kOn, named(std::string(1500, 'x'))), std::nullopt);
}

}  // namespace
}  // namespace predgen::act
