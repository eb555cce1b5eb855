#pragma once

namespace predgen {

/// The style of every page that predgen writes: light or dark as the reader's system prefers. Line
/// colours are safe for colour-blind readers (Okabe & Ito 2008).
inline constexpr const char* kPageStyle = R"(
:root{--page:#f6f7f9;--card:#fff;--text:#1d2330;--soft:#667085;--line:#e3e6ec;
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#b0568f;--s4:#b8860b;--s5:#56b4e9;--bad:#c62828;--odd:#d98200}
@media(prefers-color-scheme:dark){:root{--page:#14171d;--card:#1c2028;--text:#e6e9ef;--soft:#98a2b3;
--line:#2f3541;--s0:#56b4e9;--s1:#f28e4b;--s2:#2fc79a;--s3:#d98cc0;--s4:#e6c229;--s5:#8ab4f8;
--bad:#ff6b6b;--odd:#ffb454}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.45 system-ui,"Segoe UI","DejaVu Sans",sans-serif}
main{max-width:1360px;margin:0 auto;padding:28px 24px 40px}
h1{font-size:1.6em;margin:0}h2{font-size:1.1em;margin:30px 0 10px}
.soft{color:var(--soft);margin:4px 0}
.progress{height:6px;border-radius:3px;background:var(--line);margin:12px 0 20px;overflow:hidden}
.progress div{height:100%;background:var(--s0)}
.alarm{border-left:4px solid var(--bad);background:var(--card);padding:10px 14px;margin:0 0 18px;border-radius:4px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:12px;margin-bottom:18px}
.tile,figure,table,details{background:var(--card);border:1px solid var(--line);border-radius:8px}
.tile{padding:10px 14px}.tile span{display:block;color:var(--soft);font-size:.85em}
.tile strong{font-size:1.45em;font-weight:600}.tile em{font-style:normal}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px}
figure{margin:0;padding:12px 14px 8px;min-width:0}
figcaption{font-weight:600}
.plot{position:relative}svg{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--soft);font-size:11.5px;font-variant-numeric:tabular-nums}
.grid{stroke:var(--line)}.axis{stroke:var(--soft);opacity:.6}
.line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}
.band{fill:currentColor;opacity:.16}svg .fill{fill:currentColor}.whisker{stroke:currentColor;stroke-width:2}.whisker.thin{stroke-width:1.4;opacity:.5}
.s0{color:var(--s0)}.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}.s5{color:var(--s5)}
.outlier{color:var(--odd)}.infinite{color:var(--bad)}
.cursor{stroke:var(--soft);stroke-dasharray:3 3;visibility:hidden}
output{position:absolute;top:6px;pointer-events:none;visibility:hidden;background:var(--card);border:1px solid var(--line);
border-radius:6px;padding:4px 9px;font-size:.82em;white-space:pre;font-variant-numeric:tabular-nums;box-shadow:0 2px 8px #0002}
table{border-collapse:separate;border-spacing:0;width:100%;overflow:hidden;font-size:.92em}
td,th{padding:8px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500}tr:last-child td{border-bottom:0}
.answers td,.answers th{width:33%;white-space:pre-wrap}
details{padding:10px 14px;margin-top:12px}summary{cursor:pointer;font-weight:600}
details table{border:0;margin-top:8px;font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.82em}
pre{overflow:auto;font:.85em/1.4 ui-monospace,"DejaVu Sans Mono",monospace}
)";

}  // namespace predgen
