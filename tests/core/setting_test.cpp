#include "core/setting.h"

#include <gmock/gmock.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

enum class Colour { kRed, kBlue };

struct Lamp {
  bool is_on = false;
  int64_t watts = 40;
  double hue = 0.5;
  std::string name = "lamp one", socket = "wall";
  std::filesystem::path plan{};
  Colour colour = Colour::kRed;
  std::vector<std::string> rooms{"hall"};
  std::optional<double> height{};
  uint64_t seed = 0;
};

Settings settings_of(Lamp& lamp) {
  const std::vector<std::string> sockets{"wall", "floor"};
  const std::vector<std::pair<std::string, Colour>> colours{{"red", Colour::kRed},
                                                            {"blue", Colour::kBlue}};
  return {{"on", lamp.is_on, "whether it shines"},
          Setting("watts", lamp.watts, between(1, 100), "what it takes")
              .must([&lamp] { return !lamp.is_on || lamp.watts > 5; }, "is too dark to be on"),
          {"light",
           {{"hue", lamp.hue, between(0, 1), "of the light"},
            {"colour", lamp.colour, colours, "of the shade"}}},
          Setting("name", lamp.name, "what it is called").as("--lamp"),
          {"socket", lamp.socket, sockets, "where it is"},
          {"plan", lamp.plan, "of the house"},
          {"rooms", lamp.rooms, "that it lights"},
          {"height", lamp.height, at_least(0), "metres | feet"},
          {"seed", lamp.seed, "of its flicker"}};
}

Lamp read_lamp(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  ConfigReader reader = ConfigReader::parse(yaml, "lamp.yaml", overrides);
  const auto lamp = read_settings<Lamp>(reader);
  reader.finish();
  return lamp;
}

TEST(Setting, IsReadWhereItIs) {
  const Lamp lamp = read_lamp(
      "on: true\nwatts: 60\nlight: {hue: 1, colour: blue}\nname: x\nsocket: floor\nplan: p\n"
      "rooms: [a, b]\nheight: 2\nseed: 7\n");
  EXPECT_TRUE(lamp.is_on);
  EXPECT_EQ(lamp.watts, 60);
  EXPECT_EQ(lamp.hue, 1);
  EXPECT_EQ(lamp.colour, Colour::kBlue);
  EXPECT_EQ(lamp.name, "x");
  EXPECT_EQ(lamp.socket, "floor");
  EXPECT_EQ(lamp.plan, "p");
  EXPECT_THAT(lamp.rooms, testing::ElementsAre("a", "b"));
  EXPECT_EQ(lamp.height, 2.0);
  EXPECT_EQ(lamp.seed, 7u);
  EXPECT_EQ(read_lamp("{}").watts, 40);
  EXPECT_FALSE(read_lamp("{}").height);
}

TEST(Setting, WhatIsWrongIsNamed) {
  const auto refused = [](const std::string& override, const std::vector<std::string>& parts) {
    expect_user_error([&] { read_lamp("{}", {override}); }, parts);
  };
  refused("watts=101", {"\"watts\"", "between 1 and 100", "101"});
  refused("light.colour=green", {"light.colour", "red, blue"});
  refused("socket=roof", {"socket", "wall, floor"});
  refused("height=-1", {"height", "at least 0"});
  refused("seed=-1", {"seed"});
  refused("wats=5", {"wats", "watts"});
  expect_user_error([] { read_lamp("{on: true, watts: 5}"); }, {"watts", "too dark"});
  EXPECT_EQ(read_lamp("{on: false, watts: 5}").watts, 5);
  Lamp lamp;
  ConfigReader reader = ConfigReader::parse("{}", "lamp.yaml");
  read_settings(reader, {Setting("plan", lamp.plan, "").needed()});
  expect_user_error([&] { reader.finish(); }, {"\"plan\" is missing"});
}

TEST(Setting, ChosenOnesAreTheSame) {
  Lamp lamp;
  const Settings settings = settings_of(lamp);
  const Settings chosen = only(settings, {"seed", "watts"});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].name, "seed");
  EXPECT_EQ(chosen[1].range(), "1 to 100");
  EXPECT_EQ(unbounded(chosen)[1].range(), "");
  EXPECT_THROW(only(settings, {"weight"}), Error);
  const Settings flags = flagged(settings);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].flag_names(), "--lamp");
  EXPECT_EQ(settings[1].flag_names(), "--watts");
}

TEST(Setting, AFileOfAllCanBeReadBack) {
  Lamp lamp;
  lamp.name = "#1: \"lamp\"";
  lamp.colour = Colour::kBlue;
  lamp.height = 1.5;
  const std::string text = settings_yaml(settings_of(lamp));
  Lamp again = read_lamp(text);
  EXPECT_EQ(again.name, lamp.name);
  EXPECT_EQ(settings_yaml(settings_of(again)), text);
  EXPECT_THAT(text,
              testing::HasSubstr("\n  colour: blue                # red, blue: of the shade\n"));
}

TEST(Setting, ATableHasARowOfEach) {
  Lamp lamp;
  const std::string table = settings_table(settings_of(lamp));
  EXPECT_THAT(table, testing::HasSubstr("| `light.hue` | `0.5` | 0 to 1 | of the light |\n"));
  EXPECT_THAT(table, testing::HasSubstr("| `name`, `--lamp` | `\"lamp one\"` |  |"));
  EXPECT_THAT(table, testing::HasSubstr("metres \\| feet"));
}

}  // namespace
}  // namespace predgen
