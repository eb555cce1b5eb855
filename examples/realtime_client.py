"""A turn, or a conversation, with `predgen serve` over OpenAI's Realtime API.

Needs `pip install "openai[realtime]"`, and `sounddevice` for --microphone. Sound needs a server that hears and
speaks, as `predgen serve` does by default where the models for that are.
"""
import argparse
import array
import base64
import contextlib
import json
import sys
import threading
import time
import wave

import openai
import websockets

RATE = 24000
CHUNK = RATE // 10  # samples: 0.1 s
TEXT = {"response.output_text.delta", "response.output_audio_transcript.delta"}


def send_words(connection, text):
    words = text.split()
    for count in range(1, len(words) + 1):
        connection.send({"type": "predgen.transcript.update", "text": " ".join(words[:count]), "revision": count,
                         "end_of_turn": count == len(words)})
        time.sleep(0.2 if count < len(words) else 0)


def send_sound(connection, samples):
    connection.input_audio_buffer.append(audio=base64.b64encode(samples).decode())


def open_recording(file):
    try:
        recording = wave.open(file)
    except (OSError, EOFError, wave.Error) as error:
        raise SystemExit(f"{file}: {error}") from error
    if recording.getsampwidth() != 2:
        raise SystemExit(f"{file}: has {8 * recording.getsampwidth()} bits a sample: 16, please")
    return recording


def samples_of(recording):
    """Mono at RATE: the first channel, by straight lines between its samples."""
    frames = array.array("h", recording.readframes(recording.getnframes()))
    if sys.byteorder == "big":
        frames.byteswap()
    sound = frames[::recording.getnchannels()]
    step = recording.getframerate() / RATE
    if step == 1 or len(sound) < 2:
        return sound
    places = [i * step for i in range(int((len(sound) - 1) / step))]
    return array.array("h", [round(sound[int(at)] + (at % 1) * (sound[int(at) + 1] - sound[int(at)])) for at in places])


def send_recording(connection, recording):
    sound = samples_of(recording)
    for begin in range(0, len(sound), CHUNK):
        send_sound(connection, sound[begin:begin + CHUNK].tobytes())
        time.sleep(CHUNK / RATE)
    for _ in range(20):  # the pause that ends the turn
        send_sound(connection, bytes(2 * CHUNK))
        time.sleep(CHUNK / RATE)


class Headphones:
    """What is to be played, a tenth of a second at a time."""

    def __init__(self):
        self.lock, self.sound = threading.Lock(), bytearray()

    def play(self, samples):
        with self.lock:
            self.sound += samples

    def clear(self):
        with self.lock:
            self.sound.clear()

    def fill(self, output, *_):
        with self.lock:
            count = min(len(output), len(self.sound))
            output[:] = bytes(self.sound[:count]) + bytes(len(output) - count)
            del self.sound[:count]


def converse(connection, headphones):
    import sounddevice  # PortAudio
    form = {"samplerate": RATE, "blocksize": CHUNK, "channels": 1, "dtype": "int16"}
    with sounddevice.RawOutputStream(callback=headphones.fill, **form), \
            sounddevice.RawInputStream(callback=lambda data, *_: send_sound(connection, bytes(data)), **form):
        print("listening; Ctrl-C ends")
        print_events(connection, headphones.play, headphones.clear, is_endless=True)


def print_events(connection, play, clear, is_endless=False):
    """Prints texts, and plays sounds, until the answer is done; returns when it began."""
    began = None
    for event in connection:
        if event.type == "error":
            raise SystemExit(f"the server says: {event.error.message}")
        if event.type == "input_audio_buffer.speech_started":
            clear()  # the user speaks: the answer is no longer wanted
        elif event.type == "conversation.item.input_audio_transcription.completed":
            print("heard:", event.transcript)
        elif event.type in TEXT:
            began = began or time.monotonic()
            print(event.delta, end="", flush=True)
        elif event.type == "response.output_audio.delta":
            play(base64.b64decode(event.delta))
        elif event.type == "response.done":
            print()
            if not is_endless:
                return began
    return began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", "--base-url", default="http://127.0.0.1:8080/v1", help="of the server (%(default)s)")
    parser.add_argument("--key", default="none", help="an API key, if the server has any")
    parser.add_argument("--model", default="smollm2", help="its model (%(default)s)")
    parser.add_argument("--output", default="answer.wav", metavar="FILE.wav",
                        help="where the sound of the answer goes (%(default)s); with --microphone it is played")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--text", metavar="WORDS",
                      help="sends the words one by one, as a recogniser would; the answer is drafted meanwhile")
    what.add_argument("--wav", metavar="FILE", help="sends a recording (16 bits) as fast as it was spoken")
    what.add_argument("--microphone", action="store_true", help="a spoken conversation until Ctrl-C; put on headphones")
    options = parser.parse_args()
    try:
        converse_once(options)
    except openai.OpenAIError as error:
        raise SystemExit(f"{options.url}: {error}") from None
    except (OSError, websockets.WebSocketException) as error:  # there is no server, or it refuses
        raise SystemExit(f"{options.url}: {answer_of(error)}") from None


def answer_of(error):
    """What a server that refuses a WebSocket says, or what went wrong before it could."""
    body = getattr(getattr(error, "response", None), "body", None)
    try:
        return json.loads(body)["error"]["message"]
    except (TypeError, ValueError, KeyError):
        return f"{error}: is predgen serve running there?"


def converse_once(options):

    recording = open_recording(options.wav) if options.wav else None
    client = openai.OpenAI(base_url=options.url, api_key=options.key)
    sound = bytearray()
    with client.realtime.connect(model=options.model) as connection, contextlib.suppress(KeyboardInterrupt):
        connection.session.update(session={"type": "realtime", "max_output_tokens": 128})
        if options.microphone:
            return converse(connection, Headphones())
        if options.text:
            send_words(connection, options.text)
            ended = time.monotonic()
            began = print_events(connection, sound.extend, sound.clear)
            wait = f"the answer began {1e3 * (began - ended):.0f} ms after the last word" if began else "no answer"
            print(f"[{wait}]")
        else:
            sender = threading.Thread(target=send_recording, args=(connection, recording), daemon=True)
            sender.start()
            print_events(connection, sound.extend, sound.clear)
    if sound:
        with wave.open(options.output, "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(sound)
        print("sound:", options.output)


if __name__ == "__main__":
    main()
