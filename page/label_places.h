#pragma once

#include <string>
#include <vector>

#include "page/svg_canvas.h"

namespace predgen {

/// Places labels next to points where they overlap neither a point nor each other.
class LabelPlaces {
 public:
  /// Labels stay inside this box.
  LabelPlaces(double left, double top, double right, double bottom);

  /// Keeps labels out of this radius around a point.
  void keep_free(double x, double y, double radius);
  enum class Side { kRight, kAbove };
  /// Draws it on that side of the point if free, else around it; omitted if there is no free place.
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
