#pragma once

#include <ATen/ATen.h>

namespace predgen {

constexpr int64_t kSpeakerRate = 16'000;  // Hz
constexpr int64_t kSpeakerBands = 80;
constexpr int64_t kSpeakerMinSamples = 257;  // fewer cannot be reflect-padded at the ends

/// Log-mel spectrum of samples_N (float32, CPU, 16 kHz, N >= 257), each band's mean over time
/// subtracted: [80, 1 + N/160].
at::Tensor speaker_features(const at::Tensor& samples_N);

}  // namespace predgen
