#include "voice/speaker/speaker_features.h"

#include <cmath>

namespace predgen {
namespace {

constexpr int64_t kFftSize = 512, kFeatureWindow = 400, kFeatureHop = 160;

double hz_to_mel(double hz) { return 2595 * std::log10(1 + hz / 700); }

/// Triangles with peak 1 and corners evenly spaced on the HTK mel scale: [80, 257]. In float32, as
/// in the network's training.
at::Tensor mel_filters() {
  const double nyquist = kSpeakerRate / 2.0;
  const at::Tensor hz_F = at::linspace(0, nyquist, kFftSize / 2 + 1);
  const at::Tensor mel_C = at::linspace(hz_to_mel(0), hz_to_mel(nyquist), kSpeakerBands + 2);
  const at::Tensor corner_C1 = (at::pow(10.0, mel_C / 2595.0) - 1).mul(700.0).unsqueeze(1);
  const at::Tensor width_C1 =
      corner_C1.narrow(0, 1, kSpeakerBands + 1) - corner_C1.narrow(0, 0, kSpeakerBands + 1);
  const at::Tensor above_CF = corner_C1 - hz_F;
  const at::Tensor rising =
      -above_CF.narrow(0, 0, kSpeakerBands) / width_C1.narrow(0, 0, kSpeakerBands);
  const at::Tensor falling =
      above_CF.narrow(0, 2, kSpeakerBands) / width_C1.narrow(0, 1, kSpeakerBands);
  return at::minimum(rising, falling).clamp_min(0);
}

}  // namespace

at::Tensor speaker_features(const at::Tensor& samples_N) {
  const at::Tensor window = at::hann_window(kFeatureWindow, /*periodic=*/true);
  const at::Tensor spectrum_FT =
      at::stft(samples_N, kFftSize, kFeatureHop, kFeatureWindow, window, /*center=*/true, "reflect",
               /*normalized=*/false, /*onesided=*/true, /*return_complex=*/true);
  const at::Tensor power_FT = spectrum_FT.abs().square();
  const at::Tensor bands_BT = at::mm(mel_filters(), power_FT).add(1e-6).log();
  return bands_BT - bands_BT.mean(1, /*keepdim=*/true);
}

}  // namespace predgen
