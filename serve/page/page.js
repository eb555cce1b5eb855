"use strict";

const at = (id) => document.getElementById(id);
const player = new Player();
let socket = null, hasVoice = false, hasRecogniser = false, microphone = null;
let recogniser = null;  // the browser's own, while it listens
let revision = 0, lastWords = [], turns = 0;  // revision 0: nothing of this turn was sent
let pause = null;  // since the last key, while its word may go on
const revised = new Set();  // places of words that have changed in this turn
let answer = null, spokenItem = null, drafting = true;
let endsSpeech = false;  // the microphone was switched off, and its last words are not known yet
let isAnswering = false, waitingWords = null;  // of a turn that ended before the answer did

function send(event) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event));
}

function sendSettings() {
  const session = {type: "realtime", predgen: {
    speculation: at("speculation").checked, events: ["speculation", "sentence", "tools", "metrics"]}};
  if (at("instructions").value.trim()) session.instructions = at("instructions").value;
  if (hasVoice) session.output_modalities = [at("sound").checked ? "audio" : "text"];
  send({type: "session.update", session});
}

// Marks the words that were others before. The last one may grow.
function showHeard(text) {
  const words = text.split(" ");
  words.forEach((word, i) => {
    const before = lastWords[i] ?? "";
    const grows = i >= lastWords.length - 1 && word.startsWith(before);
    if (word !== before && !grows) revised.add(i);
  });
  fill(at("heard"), words.map((word, i) => [(i > 0 ? " " : "") + word, revised.has(i) ? "mark" : ""]));
  lastWords = words;
}

// A line for each call of the server's tools in this turn, with what happened to it last.
function showCall({name, arguments: given, state, text}) {
  const call = `${name} ${given}`;
  let line = Array.from(at("calls").children).find((one) => one.dataset.call === call);
  if (line && line.className !== "discarded" && state === "drafted") return;  // it has begun
  if (!line) {
    line = document.createElement("li");
    line.dataset.call = call;
    at("calls").append(line);
  }
  line.className = state;
  line.textContent = `${text} ${given}`;
}

// The next draft says what it calls.
function forgetDraftedCalls() {
  for (const line of at("calls").querySelectorAll(".drafted")) line.remove();
}

function beginTurn() {
  at("draft").replaceChildren();
  at("calls").replaceChildren();
  at("ready").textContent = "";
}

function showTurnOf(text) {
  show("user", text);
  revision = 0;
  lastWords = [];
  revised.clear();
  at("heard").replaceChildren();
}

function hear(words, isEnd) {
  if (!words.trim() && (isEnd || revision === 0)) return clearTimeout(pause);
  const text = words.trim();
  clearTimeout(pause);
  if (revision === 0) {
    beginTurn();
    interrupt();
  }
  if (!isEnd) {
    send({type: "predgen.transcript.update", text, revision: ++revision});
    return showHeard(text);
  }
  showTurnOf(text);
  at("words").value = "";
  waitingWords = text;
  if (!isAnswering) endTurn();
}

function endTurn() {
  const text = waitingWords;
  waitingWords = null;
  if (text !== null) send({type: "predgen.transcript.update", text, end_of_turn: true});
}

// Ends an answer that is under way or heard.
function interrupt() {
  const wasPlaying = player.isPlaying();
  const heard = player.cut();
  if (wasPlaying && spokenItem) {
    send({type: "conversation.item.truncate", item_id: spokenItem, content_index: 0, audio_end_ms: heard});
  }
  spokenItem = null;
  if (isAnswering) send({type: "response.cancel"});
}

function addText(delta) {
  answer ??= show("assistant", "");
  answer.append(delta);
  keepInView(answer);
}

const milliseconds = (seconds) => seconds === null ? "–" : Math.round(seconds * 1000);

function showTurn({metrics, events}) {
  drawWaterfall(at("waterfall"), events, metrics);
  for (const id of ["waterfall", "legend", "turns"]) at(id).hidden = false;
  at("waterfall").removeAttribute("hidden");
  const passes = metrics.nfe_to_first_sentence ?? 0;
  at("summary").textContent = metrics.ttfs === null ? "No answer." :
    `First sentence ${milliseconds(metrics.ttfs)} ms after your last word, by ${passes} forward ` +
    `${passes === 1 ? "pass" : "passes"}${metrics.first_sentence_kept ? ", kept from the draft" : ""}.` +
    (metrics.audio_latency === null ? "" : ` Sound after ${milliseconds(metrics.audio_latency)} ms.`);
  const row = at("turns").tBodies[0].insertRow(0);
  for (const value of [++turns, drafting ? "on" : "off", milliseconds(metrics.ttfs), passes,
                       metrics.first_sentence_kept ? "yes" : "no"]) {
    row.insertCell().textContent = value;
  }
}

function finish(response) {
  at("draft").querySelector(".rejected")?.remove();
  if (answer) {
    const text = answer.textContent;
    showMarkdown(answer);
    offerCopy(answer, text);
  }
  if (response.status === "failed") {
    show("error", response.status_details?.error?.message ?? "The answer failed.");
  } else if (answer && response.status !== "completed") {
    const note = document.createElement("small");
    note.textContent = response.status === "cancelled" ? "stopped" : "cut: as long as an answer may be";
    answer.append(note);
  }
  answer = null;
  isAnswering = false;
  at("stop").disabled = !player.isPlaying();
  endTurn();
}

// What crosses an event of the server, and changes nothing: a stop the end of an answer, the microphone's
// switch the end of a turn.
const harmless = new Set(["response_cancel_not_active", "conversation_already_has_active_response",
                          "input_audio_buffer_commit_empty"]);

const handlers = {
  "session.created": ({session}) => {
    const had = hasVoice;
    hasVoice = session.output_modalities.includes("audio");
    at("sound").disabled = !hasVoice;
    if (hasVoice !== had) at("sound").checked = hasVoice;  // else it stays as the user set it
    hasRecogniser = session.audio.input.turn_detection !== null;
    if (hasRecogniser) at("speak").hidden = false;
    at("speech-note").hidden = hasRecogniser || at("speak").hidden;
    setState(`ready: ${session.model}`);
    at("access").open = false;
    sendSettings();
  },
  "session.updated": ({session}) => { at("speculation").checked = session.predgen.speculation; },
  "input_audio_buffer.speech_started": () => { interrupt(); beginTurn(); },
  "conversation.item.input_audio_transcription.completed": ({transcript}) => {
    if (transcript) showTurnOf(transcript);
    if (transcript && endsSpeech) send({type: "response.create"});
    endsSpeech = false;
  },
  "response.created": () => {
    drafting = at("speculation").checked;
    isAnswering = true;
    at("stop").disabled = false;
    player.begin();
  },
  "response.output_item.added": ({item}) => { spokenItem = item.id; },
  "response.output_text.delta": ({delta}) => addText(delta),
  "response.output_audio_transcript.delta": ({delta}) => addText(delta),
  "response.output_audio.delta": ({delta}) => player.play(delta),
  "response.done": ({response}) => finish(response),
  "predgen.speculation.draft": ({transcript, kept, drafted, rejected}) => {
    if (microphone && transcript) showHeard(transcript);
    forgetDraftedCalls();
    fill(at("draft"), [[kept, "kept"], [drafted, "drafted"], [rejected ? " " + rejected : "", "rejected"]]);
  },
  "predgen.speculation.kept": ({kept, rejected}) => {
    fill(at("draft"), [[kept, "kept"], [rejected, "rejected"]]);
    at("ready").textContent = "";
    forgetDraftedCalls();
  },
  "predgen.tool_call": (event) => showCall(event),
  "predgen.sentence.ready": ({text}) => { at("ready").textContent = `First sentence ready: ${text}`; },
  "predgen.metrics": (event) => showTurn(event),
  "error": ({error}) => {
    if (["input_audio_buffer_commit_empty", "recogniser_failed"].includes(error.code)) endsSpeech = false;
    if (!harmless.has(error.code)) show("error", error.message);
  },
};

// Until the tab is closed.
const remember = (id) => sessionStorage.setItem(id, at(id).value);

function setState(text, isLost = false) {
  at("state").textContent = text;
  at("state").classList.toggle("lost", isLost);
}

function connect() {
  socket?.close();
  setState("connecting");
  const key = at("key").value;
  const protocols = key ? ["realtime", `openai-insecure-api-key.${key}`] : ["realtime"];
  const opened = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/realtime`,
                               protocols);
  socket = opened;
  opened.onmessage = ({data}) => {
    const event = JSON.parse(data);
    handlers[event.type]?.(event);
  };
  opened.onclose = ({code, reason}) => {
    if (socket !== opened) return;
    setState(reason ? `over: ${reason}` : "no connection", true);
    if (code === 1006) explainRefusal();
    answer = null;
    isAnswering = endsSpeech = false;
    closeMicrophone();
  };
}

// A browser does not tell why a WebSocket was refused; a plain request says it.
async function explainRefusal() {
  const key = at("key").value;
  const answer = await fetch("/v1/models", {headers: key ? {Authorization: `Bearer ${key}`} : {}}).catch(() => null);
  if (!answer || answer.ok) return;
  const {error} = await answer.json();
  setState(error.message, true);
  at("access").open = answer.status === 401;
}

// A connection is a conversation: another one knows nothing of this one. The times of its turns stay.
function beginConversation() {
  player.cut();
  recogniser?.abort();
  closeMicrophone();
  clearTimeout(pause);
  revision = 0;
  lastWords = [];
  revised.clear();
  answer = spokenItem = waitingWords = null;
  isAnswering = endsSpeech = false;
  for (const id of ["messages", "heard", "draft", "ready", "calls"]) at(id).replaceChildren();
  at("words").value = "";
  at("stop").disabled = true;
  connect();
  at("words").focus();
}

function closeMicrophone() {
  microphone?.close();
  microphone = null;
  at("speak").setAttribute("aria-pressed", "false");
}

// The server's recogniser, where it has one, finds the ends of turns itself; closing ends one, too, even if its
// words are not known yet.
async function switchMicrophone() {
  if (microphone) {
    closeMicrophone();
    endsSpeech = true;
    return send({type: "input_audio_buffer.commit"});
  }
  const opened = microphone = new Microphone();
  at("speak").setAttribute("aria-pressed", "true");
  try {
    await opened.open((audio) => {
      if (microphone === opened) send({type: "input_audio_buffer.append", audio});
    });
  } catch (error) {
    if (microphone !== opened) return;
    show("error", describeSpeechFault(error.name, error.message));
    closeMicrophone();
  }
}

// Otherwise the browser's own, where it has one.
function setUpSpeech() {
  const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
  const button = at("speak");
  button.hidden = !Recognition;
  button.onclick = () => {
    player.unlock();
    if (hasRecogniser) return switchMicrophone();
    if (recogniser) return recogniser.stop();
    recogniser = new Recognition();
    recogniser.interimResults = true;
    recogniser.lang = navigator.language;
    recogniser.onstart = () => { interrupt(); button.setAttribute("aria-pressed", "true"); };
    recogniser.onresult = ({results}) => {
      const words = Array.from(results, (result) => result[0].transcript).join("");
      hear(words, results[results.length - 1].isFinal);
    };
    recogniser.onerror = ({error}) => { if (error !== "aborted") show("error", describeSpeechFault(error)); };
    recogniser.onend = () => { recogniser = null; button.setAttribute("aria-pressed", "false"); };
    recogniser.start();
  };
}

// A word that is being typed counts when it is over, or when no key has come for a while.
function hearTyped() {
  const words = at("words").value;
  showHeard(words.trim());
  clearTimeout(pause);
  if (/[\s.?!]$|^$/.test(words)) return hear(words, false);
  pause = setTimeout(() => hear(words, false), 200);
}

at("words").oninput = hearTyped;
at("talk").onsubmit = (event) => {
  event.preventDefault();
  player.unlock();
  hear(at("words").value, true);
};
at("stop").onclick = () => { interrupt(); at("stop").disabled = true; at("words").focus(); };
at("new").onclick = beginConversation;
at("speculation").onchange = sendSettings;
at("sound").onchange = () => { player.unlock(); sendSettings(); };
at("instructions").onchange = () => { remember("instructions"); sendSettings(); };
at("key-form").onsubmit = (event) => { event.preventDefault(); remember("key"); connect(); };
for (const id of ["instructions", "key"]) at(id).value = sessionStorage.getItem(id) ?? "";
setUpSpeech();
connect();
watchLoad(() => socket?.readyState === WebSocket.OPEN, () => at("key").value);
