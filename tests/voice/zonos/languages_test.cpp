#include "voice/zonos/languages.h"

#include <gmock/gmock.h>

#include <set>

#include "core/error.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ZonosLanguages, AreNumberedAsTheModelWasTrained) {
  const auto& languages = zonos_languages();
  EXPECT_EQ(languages.size(), 109u);
  EXPECT_EQ(std::set(languages.begin(), languages.end()).size(), 109u);
  EXPECT_EQ(language_id("af"), 0);
  EXPECT_EQ(language_id("cmn"), 12);
  EXPECT_EQ(language_id("de"), 16);
  EXPECT_EQ(language_id("en-us"), 24);
  EXPECT_EQ(language_id("es"), 26);
  EXPECT_EQ(language_id("fr-fr"), 35);
  EXPECT_EQ(language_id("yue"), 108);
}

TEST(ZonosLanguages, UnknownCodeNamesTheNearest) {
  const auto asking = [](const char* code) { return [code] { language_id(code); }; };
  EXPECT_THAT(asking("en-uk"), ThrowsMessage<UserError>(HasSubstr("did you mean \"en-us\"?")));
  EXPECT_THAT(asking("EN-US"), ThrowsMessage<UserError>(HasSubstr("did you mean \"en-us\"?")));
  EXPECT_THAT(asking("en"), ThrowsMessage<UserError>(HasSubstr("en-gb-x-rp, en-us")));
  EXPECT_THAT(asking("FR"), ThrowsMessage<UserError>(HasSubstr("fr-be, fr-ch, fr-fr")));
  EXPECT_THAT(asking("klingonese"), ThrowsMessage<UserError>(HasSubstr("fr-fr")));
  EXPECT_THAT(asking(""), ThrowsMessage<UserError>(HasSubstr("\"\"")));
}

}  // namespace
}  // namespace predgen
