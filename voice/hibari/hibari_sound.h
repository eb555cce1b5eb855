#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen {

// B: 601 frequencies, F: frames of 300 samples, which are 12.5 ms at 24 kHz.

/// The output of Hibari's network for a piece: a spectrum in three parts, float32.
struct HibariFrames {
  // The voice: pulses at the pitch, whose spectrum is multiplied by exp(voice) and turned by
  // pi * tanh(turn).
  at::Tensor voice_BF, turn_BF;
  at::Tensor noise_BF;           // log magnitude of the noise
  at::Tensor rest_BF, phase_BF;  // the remainder: log magnitude and phase
  at::Tensor pitch_F;            // Hz; 40 and below: unvoiced
};

/// Frames to samples, in order and in pieces of any size: the sum of the parts' spectra, by the
/// inverse short-time transform (1200 samples with a Hann window, every 300). The reference is
/// dsp.py of the package hibari-tts. Needs c10::InferenceMode or gradients off; one thread at a
/// time.
class HibariSound {
 public:
  explicit HibariSound(HibariFrames frames);

  int64_t num_frames() const { return frames_.voice_BF.size(1); }
  int64_t frames_left() const { return num_frames() - next_; }

  /// Processes as many frames as `noise_FB` has (complex64, standard normal in each part), at most
  /// frames_left(). Appends the samples that are then final, in [-1,1]: none for the first frame,
  /// all remaining ones for the last; 300 per frame in total.
  void push(const at::Tensor& noise_FB, std::vector<float>& samples);

 private:
  at::Tensor spectrum(int64_t begin, const at::Tensor& noise_FB) const;
  void add(const at::Tensor& windows, std::vector<float>& samples);
  void emit(int64_t block, std::vector<float>& samples);

  HibariFrames frames_;
  at::Tensor window_;        // [1200]
  at::Tensor pulses_;        // [F * 300 + 1200], with half a window at each end
  int64_t next_ = 0;         // frame
  std::vector<float> open_;  // sums of the last windows: four blocks of 300 samples
};

/// Pulses at a pitch [F], as samples [F * 300]: the sum of cosines at all harmonics below
/// 11 kHz; 0 where unvoiced. Float64 phases.
at::Tensor hibari_pulses(const at::Tensor& pitch_F);

}  // namespace predgen
