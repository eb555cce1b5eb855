#include "page/svg_canvas.h"

#include <gmock/gmock.h>

namespace predgen {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(SvgCanvas, EscapesWhatUsersWrote) {
  SvgCanvas canvas(100);
  canvas.text(1, 2, "a<b>&'\x01");
  canvas.dot(3, 4, "s0 fill", "x<y>");
  const std::string svg = canvas.finish(50, "label's <i>");
  EXPECT_THAT(svg, StartsWith("<svg viewBox='0 0 100 50'"));
  EXPECT_THAT(svg, HasSubstr(">a&lt;b&gt;&amp;&#39; </text>"));
  EXPECT_THAT(svg, HasSubstr("<title>x&lt;y&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("aria-label='label&#39;s &lt;i&gt;'"));
}

TEST(SvgCanvas, AFileOfItsOwnHasSizeAndStyle) {
  SvgCanvas canvas(100);
  canvas.rect(1, 2, 3, 4, "s0 fill");
  const std::string file = standalone_svg(canvas.finish(50, "label"));
  EXPECT_THAT(file, StartsWith("<svg xmlns='http://www.w3.org/2000/svg' width='128' height='78' "
                               "viewBox='-14 -14 128 78' role='img' aria-label='label'>"));
  EXPECT_THAT(file, HasSubstr(".fill{"));
  EXPECT_THAT(file, Not(HasSubstr("var(")));
  EXPECT_THAT(file, EndsWith("class='s0 fill'></rect>\n</svg>\n"));
}

TEST(SvgCanvas, CutsTextsBetweenCharacters) {
  EXPECT_EQ(cut_to_width("short", 100), "short");
  EXPECT_EQ(cut_to_width("much too long", 7 * 6.9), "much t…");
  EXPECT_EQ(cut_to_width("ääääää", 4 * 6.9), "äää…");
  EXPECT_GT(text_width("漢字"), text_width("ab"));
}

}  // namespace
}  // namespace predgen
