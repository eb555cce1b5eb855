#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Approximate width of a text in pixels in the pages' 12-pixel font.
double text_width(std::string_view text);

/// The longest prefix of `text` of about this width, with "…" if it was cut.
std::string cut_to_width(std::string_view text, double width);

/// Builds a picture: well-formed XML for a page or, with a style, a file of its own. Its colours
/// are classes of the page's style; shapes are filled with the class's colour.
/// Texts and titles are escaped here.
class SvgCanvas {
 public:
  explicit SvgCanvas(double width) : width_(width) {}

  double width() const { return width_; }

  /// `anchor`: start, middle or end of the text is at x; y is its base line.
  void text(double x, double y, std::string_view text, const char* anchor = "start",
            std::string_view classes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  /// `title`: the tooltip, also for screen readers; empty: none.
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

/// The same as a standalone file, on white.
std::string standalone_svg(const std::string& svg);

}  // namespace predgen
