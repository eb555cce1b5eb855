"""What smart-turn sees of sound, against transformers' WhisperFeatureExtractor, by which it was trained."""

import subprocess
import sys

import numpy as np
from transformers import WhisperFeatureExtractor

WRITE_LOG_MEL = sys.argv[1] if len(sys.argv) > 1 else "build/write_log_mel"
TOLERANCE = 2e-4  # a decade of energy is 0.25
RATE, WINDOW = 16000, 128_000

sys.dont_write_bytecode = True
extractor = WhisperFeatureExtractor(feature_size=80, chunk_length=8)


def reference(sound, normalize=True):
    padded = np.concatenate([np.zeros(WINDOW - len(sound), np.float32), sound])
    return extractor(padded, sampling_rate=RATE, padding="max_length", max_length=WINDOW, truncation=True,
                     do_normalize=normalize, return_tensors="np").input_features[0]


def ours(sound):
    run = subprocess.run([WRITE_LOG_MEL], input=sound.astype("<f4").tobytes(), capture_output=True, check=True)
    return np.frombuffer(run.stdout, "<f4").reshape(80, -1)


def sounds():
    random = np.random.default_rng(4)
    time = np.arange(WINDOW) / RATE
    chirp = (0.3 * np.sin(2 * np.pi * (200 + 300 * time) * time)).astype(np.float32)
    noise = (0.05 * random.standard_normal(WINDOW)).astype(np.float32)
    yield "a chirp in noise", chirp + noise
    yield "a second of it behind silence", (chirp + noise)[:RATE + 77]
    yield "with an offset", chirp + 0.2
    yield "quiet", 1e-3 * (chirp + noise)


worst, chirp = 0.0, next(sounds())[1]
for name, sound in sounds():
    difference = np.abs(ours(sound) - reference(sound)).max()
    worst = max(worst, difference)
    print(f"{name}: differs by {difference:.1e} at most")
fault = np.abs(ours(chirp) - reference(0.1 * chirp, normalize=False)).max()
print(f"without normalisation it would differ by {fault:.1e}")
if worst > TOLERANCE or fault < 10 * TOLERANCE:
    sys.exit("log_mel: differs from the reference, or does not notice a fault")
