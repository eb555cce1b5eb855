"use strict";

// What the microphone hears, for a server that has a recogniser.
class Microphone {
  // `hear` gets it in base64, PCM16 at 24 kHz, some milliseconds at a time.
  async open(hear) {
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
