"""scripts/train_short_window.py on a small random Whisper: what it learns from is what the networks compute, an adapter
is what convert_whisper.py adds, and training comes closer to the long window."""
import random
import sys
import unittest
from unittest import mock

import numpy

import convert_whisper_test as small

try:
    import torch
    import train_short_window as trained
except ImportError as error:
    print(f"skipped: there is no {error.name}", file=sys.stderr)
    sys.exit(77)


class TrainShortWindow(small.SmallWhisper):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        random.seed(0)
        self.whisper = trained.Whisper(self.source)
        self.tokens = [40, 41, 17]

    def changed_adapter(self):
        adapter = trained.Adapter(self.whisper.weights)
        with torch.no_grad():
            for group in adapter.parameters():
                for one in group["params"]:
                    one.add_(0.1 * torch.randn_like(one))
        return adapter

    def test_it_computes_what_the_weights_say(self):
        reference, w = small.Reference(self.weights), self.whisper.weights
        heard = self.whisper.encode(torch.from_numpy(self.mel), w)
        right = reference.encode(self.mel)
        self.assertLess(small.distance(heard.numpy(), right), 1e-4)
        states = self.whisper.decode(self.tokens, self.whisper.keys_and_values(heard, w), w)
        self.assertEqual(len(states), len(self.tokens) + 1)
        for i in range(len(states)):
            logits = reference.logits(self.whisper.prompt + self.tokens[:i], right)
            self.assertLess(small.distance((self.whisper.embeddings @ states[i]).numpy(), logits), 1e-4)

    def test_an_adapter_is_what_the_converter_adds(self):
        adapter, file = self.changed_adapter(), self.source / "adapter.safetensors"
        adapter.save(file)
        self.convert(file)
        with torch.no_grad():
            weights = {name: array.numpy() for name, array in adapter.weights().items()}
        outputs = self.open("encoder_en").run(None, {"mel": self.mel[None]})
        self.assertLess(self.farthest(outputs, weights), 0.06)
        self.assertGreater(self.farthest(outputs, self.weights), 0.2)

    @mock.patch.object(trained, "TAILS", (10, 30))
    def test_training_comes_closer_to_the_long_window(self):
        w, mel = self.whisper.weights, torch.from_numpy(self.mel)
        with torch.no_grad():
            heard = self.whisper.encode(trained.with_silence(mel, 110), w)
            states = self.whisper.decode(self.tokens, self.whisper.keys_and_values(heard, w), w)
        adapter = trained.Adapter(w)
        optimizer = torch.optim.AdamW(adapter.parameters(), weight_decay=0)
        losses = []
        for _ in range(12):
            loss = trained.loss_of(self.whisper, adapter, mel, self.tokens, states, heard[:mel.shape[1] // 2])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(numpy.mean(losses[-3:]), 0.7 * numpy.mean(losses[:3]))


if __name__ == "__main__":
    unittest.main()
