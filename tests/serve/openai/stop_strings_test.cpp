#include "serve/openai/stop_strings.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace predgen::serve {
namespace {

TEST(StopStrings, HoldsBackWhatMayBeTheBeginningOfOne) {
  StopStrings stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("a E"), "a ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("A\n"), "ENA");
  EXPECT_EQ(stops.finish(), "\n");
  EXPECT_FALSE(stops.is_found());
}

TEST(StopStrings, CutsBeforeTheFirstOne) {
  StopStrings stops({"END", "x"});
  EXPECT_EQ(stops.push("a EN"), "a ");
  EXPECT_EQ(stops.push("D x"), "");
  EXPECT_TRUE(stops.is_found());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, WithoutAnyTheTextPasses) {
  StopStrings stops({});
  EXPECT_EQ(stops.push("abc"), "abc");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, HowTheTextComesDoesNotMatter) {
  Random random(1, "stops");
  const auto letters = [&](uint64_t count) {
    std::string text;
    while (count-- > 0) text += static_cast<char>('a' + random.below(2));
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::string> strings{letters(1 + random.below(4)),
                                           letters(1 + random.below(5))};
    const std::string text = letters(random.below(12));
    constexpr size_t kNone = std::string::npos;
    std::pair<size_t, size_t> first{kNone, kNone};  // end and begin
    for (const std::string& stop : strings) {
      const size_t begin = text.find(stop);
      if (begin != kNone) first = std::min(first, {begin + stop.size(), begin});
    }
    StopStrings stops(strings);
    std::string given;
    for (size_t at = 0; at < text.size();) {
      const size_t count = 1 + random.below(3);
      given += stops.push(std::string_view(text).substr(at, count));
      at += count;
    }
    given += stops.finish();
    EXPECT_EQ(given, text.substr(0, first.second))
        << text << ": " << strings[0] << ", " << strings[1];
    EXPECT_EQ(stops.is_found(), first.second != kNone);
  }
}

}  // namespace
}  // namespace predgen::serve
