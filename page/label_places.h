#pragma once

#include <string>
#include <vector>

#include "page/svg_canvas.h"

namespace predgen {

/// Puts labels beside points where they cover neither a point nor each other.
class LabelPlaces {
 public:
  /// Labels stay inside of this.
  LabelPlaces(double left, double top, double right, double bottom);

  /// Nothing covers so much around a point.
  void keep_free(double x, double y, double radius);
  enum class Side { kRight, kAbove };
  /// On that side of the point if that is free, else around it; left out where nothing is.
  void draw(SvgCanvas& canvas, double x, double y, const std::string& label,
            Side first = Side::kRight);

 private:
  struct Box {
    double left, top, right, bottom;
  };
  bool is_free(const Box& box) const;

  Box inside_;
  std::vector<Box> taken_{};
};

}  // namespace predgen
