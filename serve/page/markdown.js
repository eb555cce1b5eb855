"use strict";

// Code, bold words and headings of a whole answer; everything else stays the text that it is.
function showMarkdown(item) {
  const nodes = [];
  const add = (tag, text) => {
    if (!tag) return nodes.push(text);
    const node = document.createElement(tag);
    node.textContent = text;
    nodes.push(node);
  };
  item.textContent.split(/^```.*\n([^]*?)^```[ ]*$\n?/m).forEach((block, i) => {
    if (i % 2 === 1) return add("pre", block);
    block.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|^#{1,6} .*$)/m).forEach((text, j) => {
      if (j % 2 === 0) add("", text);
      else if (text[0] === "`") add("code", text.slice(1, -1));
      else add("strong", text[0] === "#" ? text.replace(/^#+ /, "") : text.slice(2, -2));
    });
  });
  item.replaceChildren(...nodes);
}

// A button that copies the answer as it was written; browsers allow that only to pages that nobody can have changed.
function offerCopy(item, text) {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.title = button.ariaLabel = "Copy";
  button.onclick = () => navigator.clipboard.writeText(text);
  item.prepend(button);
}
