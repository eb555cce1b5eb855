#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace predgen {

/// Recorded sound as it was stored: C channels, N samples each.
struct Waveform {
  std::string name;         // for messages: its file
  int64_t sample_rate = 0;  // Hz
  at::Tensor samples_CN;    // float32 on the CPU, in [-1,1]
};

/// The mean of the channels at `rate` Hz, [N'] with N' = ceil(N * rate / sample_rate). UserError if
/// there are no samples, or one is not a finite number.
at::Tensor mono_at(const Waveform& waveform, int64_t rate);

/// Band-limited resampling of `samples_N` (float32, CPU) with a Hann-windowed sinc of 6 zero
/// crossings and roll-off 0.99, the default of torchaudio.
at::Tensor resample(const at::Tensor& samples_N, int64_t from_rate, int64_t to_rate);

/// A whole sound file of any rate and number of channels: WAV, FLAC, Ogg, what libsndfile reads.
/// UserError if it is missing, empty or not sound.
Waveform read_audio_file(const std::filesystem::path& file);

}  // namespace predgen
