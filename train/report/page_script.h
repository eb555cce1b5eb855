#pragma once

namespace predgen::train {

/// Shows the values at the step under the pointer, in all charts at once.
inline constexpr const char* kPageScript = R"(
const charts=[...document.querySelectorAll('figure')].map(figure=>{
  const svg=figure.querySelector('svg'),cursor=svg.appendChild(document.createElementNS(svg.namespaceURI,'path'));
  cursor.setAttribute('class','cursor');
  cursor.setAttribute('d',`M0 0V${svg.viewBox.baseVal.height-42}`);
  return {svg,cursor,box:figure.querySelector('output'),data:JSON.parse(figure.querySelector('script').textContent)};
});
const nearest=(points,step)=>points.reduce((a,b)=>Math.abs(b[0]-step)<Math.abs(a[0]-step)?b:a);
function show(step,here){
  for(const {svg,cursor,box,data} of charts){
    const share=step/data.last,at=data.left+share*(data.right-data.left);
    cursor.setAttribute('transform',`translate(${at} 0)`);
    cursor.style.visibility='visible';
    box.style.visibility=svg===here?'visible':'hidden';
    if(svg!==here)continue;
    const found=data.lines.map(line=>[line.name,nearest(line.points,step)]);
    box.textContent=found.map(([name,[at,value]])=>
      `${name}  ${Number(value.toPrecision(4))}  (step ${Math.round(at)})`).join('\n');
    const left=at/data.width*svg.clientWidth;
    box.style.left=share<.5?`${left+12}px`:'auto';
    box.style.right=share<.5?'auto':`${svg.clientWidth-left+12}px`;
  }
}
function hide(){for(const {cursor,box} of charts)cursor.style.visibility=box.style.visibility='hidden'}
for(const {svg,data} of charts){
  svg.addEventListener('pointermove',event=>{
    const box=svg.getBoundingClientRect(),x=(event.clientX-box.left)/box.width*data.width;
    const share=(x-data.left)/(data.right-data.left);
    if(share<0||share>1)hide();else show(share*data.last,svg);
  });
  svg.addEventListener('pointerleave',hide);
}
)";

}  // namespace predgen::train
