#include "page/figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace predgen {
namespace {

constexpr double kHalf = 600, kWhole = 1240, kNarrow = 340;

}  // namespace

std::string figure_html(const Figure& figure) {
  if (!figure.missing.empty()) {
    return fmt::format("<p class=missing><b>{}</b> {}</p>\n", escape_html(figure.title),
                       escape_html(figure.missing));
  }
  return fmt::format(
      "<figure id='{0}'{1}><figcaption>{2}</figcaption>\n<div class=wide>{3}</div>"
      "<div class=narrow>{4}</div>{5}</figure>\n",
      escape_html(figure.name), figure.is_wide ? " class=whole" : "", escape_html(figure.title),
      figure.draw(figure.is_wide ? kWhole : kHalf), figure.draw(kNarrow),
      figure.note.empty() ? "" : "<p class=note>" + escape_html(figure.note) + "</p>");
}

std::string figure_file(const Figure& figure) {
  return standalone_svg(figure.draw(figure.is_wide ? kWhole : kHalf));
}

double draw_legend(SvgCanvas& canvas, const std::vector<LegendEntry>& entries) {
  constexpr double kLine = 18;
  double at = 0, base = 11;
  for (const LegendEntry& entry : entries) {
    const double width = 32 + text_width(entry.label);
    if (at > 0 && at + width > canvas.width()) {
      at = 0;
      base += kLine;
    }
    canvas.rect(at, base - 9, 12, 10, entry.classes);
    canvas.text(at + 17, base, entry.label);
    at += width;
  }
  return base + 13;
}

double label_room(const std::vector<std::string>& labels, double width) {
  double widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, text_width(label));
  return std::min(widest, 0.36 * width) + 10;
}

}  // namespace predgen
