#include "act/servers/expected_results.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(results.find(kOn, named("Hall")), std::nullopt);
  results.learn(kOn, named("Hall"), "on");
  results.learn(kOn, named("Hall"), "on already");
  results.learn(kOn, named("Porch"), "another");
  EXPECT_EQ(results.find(kOn, R"({"name":"Hall"})"), "on already");
}

TEST(ExpectedResults, OrThoseOfAnotherWithItsTexts) {
  ExpectedResults results;
  results.learn(kOn, named("Hall Lamp"), done("Hall Lamp", "hall_lamp"));
  EXPECT_EQ(results.find(kOn, named("Ada's Desk")), done("Ada's Desk", "ada_s_desk"));
  EXPECT_EQ(results.find(kOff, named("Porch")), done("Porch", "porch"));
  results.learn(kOff, named("Porch"), "off: Porch");
  EXPECT_EQ(results.find(kOff, named("Shed")), "off: Shed") << "its own tool first";
  EXPECT_EQ(results.find(kOn, named("Shed")), done("Shed", "shed"));
}

TEST(ExpectedResults, NeedTheSameNamesOfArgumentsAndServer) {
  ExpectedResults results;
  results.learn(kOn, R"({"name": "Hall", "brightness": 20})", "on");
  EXPECT_EQ(results.find(kOn, named("Hall")), std::nullopt);
  EXPECT_EQ(results.find(kOn, R"({"name": "Hall", "colour": 20})"), std::nullopt);
  EXPECT_EQ(results.find({.name = "on", .server = "shed", .own_name = "HassTurnOn"},
                         R"({"name": "Hall", "brightness": 20})"),
            std::nullopt);
}

TEST(ExpectedResults, ReplaceNothingTwiceAndNoCrumbs) {
  ExpectedResults results;
  results.learn(kOn, R"({"area": "Hall", "name": "Lamp", "to": "on"})", "Hall, Lamp, one");
  EXPECT_EQ(results.find(kOn, R"({"area": "Lamp", "name": "Hall", "to": "off"})"),
            "Lamp, Hall, one");
  results.learn(kOn, R"({"domain": ["light", "fan"]})", "light and fan");
  EXPECT_EQ(results.find(kOn, R"({"domain": ["switch", "cover"]})"), "switch and cover");
}

TEST(ExpectedResults, AreOfEffectsAndShort) {
  ExpectedResults results;
  results.learn({.name = "look", .server = "home", .own_name = "look", .effects = Effects::kRead},
                "{}", "on");
  results.learn(kOn, "{}", std::string(5000, 'x'));
  EXPECT_EQ(results.find(kOn, "{}"), std::nullopt);
  for (int i = 0; i < 100; ++i) results.learn(kOn, named(std::to_string(i)), std::to_string(i));
  EXPECT_EQ(results.find(kOn, named("99")), "99");
  EXPECT_EQ(results.find(kOn, named("0")), "99")
      << "forgotten; numbers of two digits are not replaced";
}

}  // namespace
}  // namespace predgen::act
