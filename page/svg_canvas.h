#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// About how many pixels a text is wide in the pages' 12-pixel letters.
double text_width(std::string_view text);

/// The longest start of `text` about so wide, with "…" where it was cut.
std::string cut_to_width(std::string_view text, double width);

/// A picture in the making: well-formed XML that stands in a page or, with a style, alone. Its
/// colours are classes of the page's style; shapes are filled with the class's colour.
/// Texts and titles are escaped here.
class SvgCanvas {
 public:
  explicit SvgCanvas(double width) : width_(width) {}

  double width() const { return width_; }

  /// `anchor`: start, middle or end of the text is at x; y is its base line.
  void text(double x, double y, std::string_view text, const char* anchor = "start",
            std::string_view classes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  /// `title`: shown under the pointer, read aloud; empty: none.
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view title = "");
  void dot(double x, double y, std::string_view classes, std::string_view title = "");
  void path(std::string_view d, std::string_view classes, std::string_view title = "");

  /// The <svg> element; `label` says what it shows.
  std::string finish(double height, std::string_view label) const;

 private:
  double width_;
  std::string body_;
};

/// One that is a file of its own, on white.
std::string standalone_svg(const std::string& svg);

}  // namespace predgen
