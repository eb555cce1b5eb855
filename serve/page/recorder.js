"use strict";

class Recorder extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Int16Array(960);  // 40 ms
    this.count = 0;
  }

  process([[samples]]) {
    for (const sample of samples ?? []) {
      this.piece[this.count++] = Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
      if (this.count < this.piece.length) continue;
      this.port.postMessage(this.piece.slice());
      this.count = 0;
    }
    return true;
  }
}

registerProcessor("recorder", Recorder);
