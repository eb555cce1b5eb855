#pragma once

namespace predgen::evaluate {

/// Styles of a report of methods, added to the style of every page.
inline constexpr const char* kEvalStyle = R"(
main{overflow-wrap:break-word}h1 small{font-weight:400;color:var(--soft)}h3{font-size:1em;margin:20px 0 8px}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:14px 0 4px;font-size:.92em}
a{color:var(--s0)}a:focus-visible,summary:focus-visible,button:focus-visible,.scroll:focus-visible{outline:2px solid var(--s0);outline-offset:2px;border-radius:3px}
.alarm{margin-top:14px}.alarm.mild{border-color:var(--odd)}
.tile strong{display:block}.tile span:last-child{font-size:.8em;line-height:1.3}
.tiles{grid-template-columns:repeat(auto-fit,minmax(190px,1fr));margin-top:14px}
.charts{display:block;columns:470px;column-gap:14px}.charts>*{break-inside:avoid;margin-bottom:14px}
figure{padding:14px 16px 10px}figcaption{margin-bottom:10px}
figure.whole{grid-column:1/-1}figure .narrow{display:none}
.note{color:var(--soft);font-size:.85em;margin:8px 0 2px}
.missing{color:var(--soft);border:1px dashed var(--line);border-radius:8px;padding:10px 14px;margin:0 0 14px;font-size:.9em}
svg text{font-size:12px}svg .strong{fill:var(--text);font-weight:600}svg .dark{fill:var(--text)}svg .inverse{fill:var(--card)}
svg .halo{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
svg .half{fill:currentColor;fill-opacity:.5}svg .pale{fill:currentColor;fill-opacity:.24}
.base{color:var(--soft)}.zero{stroke:var(--soft);stroke-dasharray:3 3}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.scroll table{border:0;border-radius:0;background:none;overflow:visible}
table small{color:var(--soft)}td,th{padding:6px 11px}thead th{vertical-align:bottom}
.figures th{overflow-wrap:normal}.figures td{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.figures thead th{text-align:right}.figures tbody th,.figures thead tr:first-child th:first-child{text-align:left;white-space:nowrap}.figures tbody th{color:var(--text)}
tbody tr:last-child>*{border-bottom:0}nav+.soft{margin-top:12px}
.figures thead th[colspan]{text-align:center}.paper{border-left:2px solid var(--line)}
.number{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap}
.turns th,.turns td:first-child{overflow-wrap:normal}.turns .prompt{min-width:200px;max-width:420px}.turns td:last-child{min-width:250px}.turns details,.scroll details{border:0;padding:0;margin:0;background:none}
.turns summary{font-weight:400}dl{margin:8px 0 4px}dt{color:var(--soft);font-size:.85em;margin-top:8px}dd{margin:1px 0 0;white-space:pre-wrap}
mark{background:color-mix(in srgb,var(--s4) 30%,transparent);color:inherit;border-radius:3px;padding:0 2px}
.kept{color:var(--s2);font-weight:600}s{color:var(--soft)}
details table{font-family:inherit;font-size:.92em}h4{margin:16px 0 6px;font-size:.95em}
th button{all:unset;cursor:pointer;font-weight:500}th button::after{content:"\a0 ↕";opacity:.45}
th[aria-sort=ascending] button::after{content:"\a0 ↑";opacity:1}th[aria-sort=descending] button::after{content:"\a0 ↓";opacity:1}
.run{margin-top:22px}.timeline{margin-bottom:14px}.timeline details{margin-top:-1px}.run>summary{font-size:1.1em}
@media(max-width:640px){main{padding:18px 12px 30px}figure{padding:12px 10px 8px}
figure .wide{display:none}figure .narrow{display:block}.tiles{grid-template-columns:repeat(auto-fit,minmax(140px,1fr))}
.turns .prompt{min-width:150px}td,th{padding:6px 8px}}
@media print{:root{--page:#fff;--card:#fff;--text:#000;--soft:#444;--line:#bbb;--s0:#0072b2;--s1:#d55e00;--s2:#009e73;
--s3:#b0568f;--s4:#b8860b;--s5:#56b4e9}nav,th button::after{display:none}main{max-width:none;padding:0}body{font-size:11px}
.charts{columns:2}figure,.tile,tr,.missing{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible}
.turns{font-size:.85em}.turns .prompt,.turns td:last-child{min-width:0}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)";

/// Heads of tables become buttons that sort.
inline constexpr const char* kEvalScript = R"(
for(const table of document.querySelectorAll('table.sortable')){
  const heads=[...table.tHead.rows[table.tHead.rows.length-1].cells];
  heads.forEach((head,column)=>{
    const button=document.createElement('button');
    button.type='button';button.append(...head.childNodes);head.append(button);
    button.addEventListener('click',()=>{
      const up=head.getAttribute('aria-sort')!=='ascending';
      heads.forEach(other=>other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort',up?'ascending':'descending');
      const key=row=>{const cell=row.cells[column];return cell.dataset.sort??cell.textContent.trim()};
      const rows=[...table.tBodies[0].rows].map(row=>[row,key(row)]);
      rows.sort(([,a],[,b])=>{
        const x=parseFloat(a),y=parseFloat(b);
        const missing=isNaN(x)-isNaN(y);
        const order=isNaN(x)&&isNaN(y)?a.localeCompare(b):missing||x-y;
        return missing?order:up?order:-order;
      });
      table.tBodies[0].append(...rows.map(([row])=>row));
    });
  });
}
addEventListener('beforeprint',()=>document.querySelectorAll('details.run').forEach(run=>run.open=true));
)";

}  // namespace predgen::evaluate
