"use strict";

// Plays PCM16 at 24 kHz as it comes, piece after piece.
class Player {
  constructor() {
    this.context = null;
    this.sources = new Set();
    this.numSamples = 0;  // of this answer
  }

  // Browsers let sound begin in an event of the user's only.
  unlock() {
    this.context ??= new AudioContext({sampleRate: 24000});
    this.context.resume();
  }

  begin() {
    this.end = 0;
    this.start = null;
    this.numSamples = 0;
  }

  play(base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const values = new DataView(bytes.buffer);
    const count = bytes.length / 2;
    this.numSamples += count;
    if (!this.context || count === 0) return;
    const buffer = this.context.createBuffer(1, count, 24000);
    const samples = buffer.getChannelData(0);
    for (let i = 0; i < count; ++i) samples[i] = values.getInt16(2 * i, true) / 32768;
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    this.end = Math.max(this.end, this.context.currentTime + 0.01);
    this.start ??= this.end;
    source.start(this.end);
    this.end += buffer.duration;
    this.sources.add(source);
    source.onended = () => this.sources.delete(source);
  }

  isPlaying() {
    return this.sources.size > 0;
  }

  // Silence at once; returns how many milliseconds were heard.
  cut() {
    for (const source of this.sources) source.stop();
    this.sources.clear();
    if (!this.context || this.start === null || this.start === undefined) return 0;
    return Math.max(0, Math.round((Math.min(this.context.currentTime, this.end) - this.start) * 1000));
  }
}

// What keeps one from being heard, in plain words: by the names of getUserMedia's errors and of the browser's recogniser.
const refused = "The browser may not use the microphone: allow it for this page (often a sign beside the address).";
const noMicrophone = "No microphone was found.";
const speechFaults = {
  "NotAllowedError": refused, "not-allowed": refused, "NotFoundError": noMicrophone, "audio-capture": noMicrophone,
  "NotReadableError": "Another program has the microphone.",
  "service-not-allowed": "This browser does not offer its speech recognition here. Type instead.",
  "network": "The browser's speech recognition works by the internet, and does not reach it. Type instead.",
  "no-speech": "Nothing was heard.",
  "language-not-supported": "The browser's speech recognition does not know this language.",
};

function describeSpeechFault(name, message) {
  return speechFaults[name] ?? `The microphone: ${message || name}.`;
}

// What the microphone hears, for a server that has a recogniser.
class Microphone {
  // `hear` gets it in base64, PCM16 at 24 kHz, some milliseconds at a time.
  async open(hear) {
    if (!navigator.mediaDevices) {
      throw new Error("the browser lends it only to pages of this machine or over HTTPS");
    }
    this.stream = await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1, echoCancellation: true}});
    if (this.isClosed) return this.close();
    this.context = new AudioContext({sampleRate: 24000});
    await this.context.audioWorklet.addModule("/page/recorder.js");
    if (this.isClosed) return this.close();
    const recorder = new AudioWorkletNode(this.context, "recorder");
    recorder.port.onmessage = ({data}) => hear(btoa(String.fromCharCode(...new Uint8Array(data.buffer))));
    // Nodes that lead nowhere do not run; what comes out of this one is silence.
    this.context.createMediaStreamSource(this.stream).connect(recorder).connect(this.context.destination);
  }

  // Also while it is being opened.
  close() {
    this.isClosed = true;
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    if (this.context && this.context.state !== "closed") this.context.close();
  }
}
