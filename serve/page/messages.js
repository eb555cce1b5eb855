"use strict";

function show(role, text) {
  const item = document.createElement("li");
  item.className = role;
  item.textContent = text;
  document.getElementById("messages").append(item);
  keepInView(item, Infinity);
  return item;
}

// Scrolls if the form hides the end of a message, but not for somebody who reads further up.
function keepInView(item, most = 300) {
  const hidden = item.getBoundingClientRect().bottom - document.getElementById("talk").getBoundingClientRect().top;
  if (hidden > 0 && hidden < most) scrollBy(0, hidden + 8);
}

// One line of parts [text, class].
function fill(pane, parts) {
  pane.replaceChildren(...parts.filter(([text]) => text).map(([text, kind]) => {
    const span = document.createElement(kind === "mark" ? "mark" : "span");
    span.textContent = text;
    span.className = kind;
    return span;
  }));
}

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
