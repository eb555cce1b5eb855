"use strict";

// How many there are at the moment; of others nothing else is shown.
const kCounts = {
  here: ["predgen_realtime_sessions"],
  speaking: ["predgen_speaking_conversations"],
  answering: ["predgen_answering_conversations", "predgen_active_sessions"],
  waiting: ["predgen_waiting_sessions"],
};

function showLoad(metrics) {
  const values = new Map(metrics.split("\n").map((line) => line.split(" ")));
  for (const [id, names] of Object.entries(kCounts)) {
    const count = names.reduce((sum, name) => sum + Number(values.get(name) ?? 0), 0);
    document.getElementById(id).textContent = metrics ? count : "–";
  }
}

// `isHere`: whether this page has a conversation; `key`: the API key, empty: none.
async function watchLoad(isHere, key, milliseconds = 1000) {
  while (true) {
    if (isHere() && !document.hidden) {
      const headers = key() ? {Authorization: `Bearer ${key()}`} : {};
      try {
        const answer = await fetch("/metrics", {headers});
        showLoad(answer.ok ? await answer.text() : "");
      } catch {
        showLoad("");
      }
    }
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
  }
}
