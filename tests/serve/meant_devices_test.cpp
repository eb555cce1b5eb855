#include "serve/meant_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<HomeDevice> kDevices{
    {{"Kitchen Light"}, "light", {"Kitchen"}},      {{"Spots", "Bo's Spots"}, "light", {"Kitchen"}},
    {{"Kitchen Fan"}, "fan", {"Kitchen"}},          {{"Light"}, "light", {"Hall"}},
    {{"Office Lamp"}, "light", {"Office"}},         {{"Thermostat"}, "climate", {"Office"}},
    {{"Office Temperature"}, "sensor", {"Office"}}, {{"Plug"}, "switch", {"Kitchen"}},
    {{"Ann's Hi-Fi"}, "media_player", {"Hall"}},    {{"K\u00fcche oben"}, "light", {}},
};

std::vector<std::string> first_names(const std::string& words) {
  std::vector<std::string> names;
  for (const HomeDevice& device : meant_by(words, kDevices).devices)
    names.push_back(device.names[0]);
  return names;
}

std::vector<std::string> areas(const std::string& words) { return meant_by(words, kDevices).areas; }

TEST(MeantDevices, AreThoseWhoseWholeNameIsSaid) {
  EXPECT_THAT(first_names("Turn on the kitchen light."), ElementsAre("Kitchen Light"))
      << "and not what is called Light, nor all of the kitchen";
  EXPECT_THAT(areas("Turn on the kitchen light."), IsEmpty());
  EXPECT_THAT(first_names("pause anns hi fi"), ElementsAre("Ann's Hi-Fi"));
  EXPECT_THAT(first_names("BO'S SPOTS OFF!"), ElementsAre("Spots"));
  EXPECT_THAT(first_names("K\u00dcCHE OBEN an"), ElementsAre("K\u00fcche oben"));
}

TEST(MeantDevices, AreThoseOfAnAreaThatIsSaid) {
  EXPECT_THAT(first_names("Everything off in the office now, and then the rest"),
              ElementsAre("Office Lamp", "Thermostat", "Office Temperature"))
      << "'the' and 'then' are no thermostat";
  EXPECT_THAT(areas("Everything off in the office."), ElementsAre("Office"));
  EXPECT_THAT(first_names("all lights in the kitchen"), ElementsAre("Kitchen Light", "Spots"))
      << "what is a light there, and no light elsewhere";
  EXPECT_THAT(first_names("switch the spots in the kitchen off"), ElementsAre("Spots"))
      << "the kitchen tells where they are";
  EXPECT_THAT(first_names("switch bo's lights in the kitchen off"),
              ElementsAre("Kitchen Light", "Spots"));
  EXPECT_THAT(first_names("the spot in the kitchen"), ElementsAre("Spots", "Kitchen Fan", "Plug"));
  EXPECT_THAT(first_names("Make the office temperature 20 degrees."),
              ElementsAre("Office Lamp", "Thermostat", "Office Temperature"));
  EXPECT_THAT(first_names("the lamp in the kitchen"),
              ElementsAre("Kitchen Light", "Spots", "Kitchen Fan", "Office Lamp", "Plug"))
      << "a lamp is only elsewhere, and the kitchen's may be meant";
}

TEST(MeantDevices, AreAllOfAKindWhereItsPluralIsSaid) {
  const auto is_kind = [](const std::string& words) { return meant_by(words, kDevices).is_kind; };
  EXPECT_TRUE(is_kind("all lights in the kitchen"));
  EXPECT_TRUE(is_kind("Turn the kitchen lights off."));
  for (const char* words :
       {"the light above the stove in the kitchen", "the kitchen lights and the thermostat",
        "Bo's spots and the lights in the kitchen", "all lights", "everything in the kitchen"}) {
    EXPECT_FALSE(is_kind(words)) << words;
  }
}

TEST(MeantDevices, AreThoseOfAWordThatIsInNoOtherName) {
  EXPECT_THAT(first_names("the kitchen light and the lamp"),
              ElementsAre("Kitchen Light", "Office Lamp"));
  EXPECT_THAT(first_names("the kitchen light and the fans"),
              ElementsAre("Kitchen Light", "Kitchen Fan"));
}

TEST(MeantDevices, AreAllWhereNoWholeNameIsSaid) {
  for (const char* words : {"", "Turn on the TV.", "it is too warm", "the lamp, please"}) {
    EXPECT_EQ(meant_by(words, kDevices).devices, kDevices) << words;
    EXPECT_THAT(areas(words), ElementsAre("Kitchen", "Hall", "Office")) << words;
  }
}

}  // namespace
}  // namespace predgen::serve
