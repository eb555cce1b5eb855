#include "page/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace predgen {
namespace {

/// The part of the page's style for files, without variables, which few converters support.
constexpr const char* kStyle = R"(
text{fill:#475467;font:12px "DejaVu Sans",Arial,sans-serif}
.strong{fill:#1d2330;font-weight:600}.dark{fill:#1d2330}.small{font-size:10.5px}.inverse{fill:#fff}
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.base{color:#667085}.s0{color:#0072b2}.s1{color:#d55e00}.s2{color:#009e73}.s3{color:#b0568f}.s4{color:#b8860b}.s5{color:#56b4e9}
.fill{fill:currentColor}.half{fill:currentColor;fill-opacity:.5}.pale{fill:currentColor;fill-opacity:.22}.rim{stroke:currentColor;fill:none}
.grid{stroke:#e3e6ec}.axis{stroke:#98a2b3}.zero{stroke:#475467;stroke-dasharray:3 3}
.whisker{stroke:currentColor;stroke-width:2}.whisker.thin{stroke-width:1.4;opacity:.5}.line{fill:none;stroke:currentColor;stroke-width:1.8}.band{fill:currentColor;opacity:.16}
)";

/// Display columns of a character, roughly: East Asian ones and pictures are wide.
double columns_of(char first_byte) {
  if (!begins_character(first_byte)) return 0;
  return static_cast<unsigned char>(first_byte) >= 0xE3 ? 1.8 : 1;
}

constexpr double kColumn = 6.9;  // pixels

/// XML allows no control characters.
std::string escape(std::string_view text) {
  std::string escaped = escape_html(text);
  std::ranges::replace_if(
      escaped, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return escaped;
}

std::string title_of(std::string_view title) {
  return title.empty() ? "" : "<title>" + escape(title) + "</title>";
}

}  // namespace

double text_width(std::string_view text) {
  double columns = 0;
  for (const char c : text) columns += columns_of(c);
  return kColumn * columns;
}

std::string cut_to_width(std::string_view text, double width) {
  if (text_width(text) <= width) return std::string(text);
  double room = width / kColumn - 1;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    room -= columns_of(text[end]);
    if (room < 0) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

void SvgCanvas::text(double x, double y, std::string_view text, const char* anchor,
                     std::string_view classes) {
  body_ += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' class='{}'>{}</text>\n", x, y,
                       anchor, classes, escape(text));
}

void SvgCanvas::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ +=
      fmt::format("<path class='{}' d='M{:.1f} {:.1f}L{:.1f} {:.1f}'/>\n", classes, x1, y1, x2, y2);
}

void SvgCanvas::rect(double x, double y, double width, double height, std::string_view classes,
                     std::string_view title) {
  body_ += fmt::format(
      "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' class='{}'>{}</rect>\n", x, y,
      width, height, classes, title_of(title));
}

void SvgCanvas::dot(double x, double y, std::string_view classes, std::string_view title) {
  body_ += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4.5' class='{}'>{}</circle>\n", x, y,
                       classes, title_of(title));
}

void SvgCanvas::path(std::string_view d, std::string_view classes, std::string_view title) {
  body_ += fmt::format("<path class='{}' d='{}'>{}</path>\n", classes, d, title_of(title));
}

std::string SvgCanvas::finish(double height, std::string_view label) const {
  return fmt::format("<svg viewBox='0 0 {:.0f} {:.0f}' role='img' aria-label='{}'>\n{}</svg>\n",
                     width_, height, escape(label), body_);
}

std::string standalone_svg(const std::string& svg) {
  constexpr double kMargin = 14;
  const size_t box = svg.find("0 0 ") + 4, attributes = svg.find("role=");
  size_t space = 0;
  const std::string size = svg.substr(box, svg.find('\'', box) - box);
  const double width = std::stod(size, &space) + 2 * kMargin,
               height = std::stod(size.substr(space)) + 2 * kMargin;
  const size_t body = svg.find('>') + 1;
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='{2} {2} "
      "{0:.0f} {1:.0f}' {3}<style>{4}</style>\n<rect x='{2}' y='{2}' width='{0:.0f}' "
      "height='{1:.0f}' fill='#fff'/>\n{5}",
      width, height, -kMargin, svg.substr(attributes, body - attributes), kStyle, svg.substr(body));
}

}  // namespace predgen
