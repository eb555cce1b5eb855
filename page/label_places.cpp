#include "page/label_places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace predgen {

LabelPlaces::LabelPlaces(double left, double top, double right, double bottom)
    : inside_{left, top, right, bottom} {}

void LabelPlaces::keep_free(double x, double y, double radius) {
  taken_.push_back({x - radius, y - radius, x + radius, y + radius});
}

bool LabelPlaces::is_free(const Box& box) const {
  if (box.left < inside_.left || box.right > inside_.right || box.top < inside_.top ||
      box.bottom > inside_.bottom) {
    return false;
  }
  return std::ranges::none_of(taken_, [&](const Box& other) {
    return box.left < other.right && other.left < box.right && box.top < other.bottom &&
           other.top < box.bottom;
  });
}

void LabelPlaces::draw(SvgCanvas& canvas, double x, double y, const std::string& label,
                       Side first) {
  // Directions around a circle, clockwise from the right.
  constexpr std::array kFromRight{0, 4, 7, 1, 6, 2, 5, 3}, kFromAbove{6, 2, 7, 1, 5, 3, 0, 4};
  constexpr double kLetters = 11;  // height
  const double width = text_width(label);
  for (const double away : {9.0, 20.0, 32.0}) {
    for (const int eighth : first == Side::kRight ? kFromRight : kFromAbove) {
      const double angle = eighth * std::numbers::pi / 4;
      const double dx = away * std::cos(angle), dy = away * std::sin(angle);
      const bool is_left = dx < -1, is_middle = std::abs(dx) <= 1;
      const double left = x + dx - (is_left ? width : is_middle ? width / 2 : 0);
      const Box box{left, y + dy - kLetters / 2, left + width, y + dy + kLetters / 2};
      if (!is_free(box)) continue;
      taken_.push_back(box);
      if (away > 10) canvas.line(x, y, x + 0.9 * dx, y + 0.9 * dy, "axis");
      canvas.text(x + dx, y + dy + 4, label,
                  is_left     ? "end"
                  : is_middle ? "middle"
                              : "start",
                  "dark halo");
      return;
    }
  }
}

}  // namespace predgen
