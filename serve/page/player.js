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
