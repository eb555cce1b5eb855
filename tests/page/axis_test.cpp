#include "page/axis.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(Axis, TicksAreRound) {
  const auto labels = [](double low, double high, int most) {
    std::vector<std::string> found;
    for (const double tick : round_ticks(low, high, most)) found.push_back(tick_label(tick));
    return found;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels(0, 100, 5), Labels({"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(labels(1.87, 2.61, 5), Labels({"2", "2.2", "2.4", "2.6"}));
  EXPECT_EQ(labels(0, 1.04e-5, 5), Labels({"0", "5e-6", "1e-5"}));
  EXPECT_EQ(labels(0, 20000, 5), Labels({"0", "5000", "10k", "15k", "20k"}));
  EXPECT_EQ(labels(-1, 1, 4), Labels({"-1", "-0.5", "0", "0.5", "1"}));
  EXPECT_EQ(labels(0, 2.5e6, 5), Labels({"0", "500k", "1M", "1.5M", "2M", "2.5M"}));
}

TEST(Axis, PlacesValues) {
  const Axis up(0, 4, 100, 20);  // on a screen more is further up
  EXPECT_EQ(up.place(1), 80);
  EXPECT_EQ(up.place(9), 20);
  const Axis wide(1, 100, 0, 200, true);
  EXPECT_EQ(wide.place(10), 100);
  EXPECT_EQ(wide.ticks(7), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
}

}  // namespace
}  // namespace predgen
