#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen {

// B: 601 frequencies, F: frames of 300 samples, which are 12.5 ms at 24 kHz.

/// What Hibari's network says of a piece: a spectrum in three parts, float32.
struct HibariFrames {
  // The voice: pulses at the pitch, whose spectrum is multiplied by exp(voice) and turned by
  // pi * tanh(turn).
  at::Tensor voice_BF, turn_BF;
  at::Tensor noise_BF;           // noise of this magnitude: its logarithm
  at::Tensor rest_BF, phase_BF;  // what is neither: the logarithm of its magnitude, and its phase
  at::Tensor pitch_F;            // Hz; 40 and below: no voice
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

  /// Goes on with as many frames as `noise_FB` has (complex64, standard normal in each part), which
  /// must not be more than frames_left(). Appends the samples that are then certain, in [-1,1]:
  /// the first frame gives none, the last all that are left; in all 300 a frame.
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

/// Pulses at a pitch [F], as samples [F * 300]: the sum of all cosines at its multiples below
/// 11 kHz; 0 where there is no voice. Float64 phases.
at::Tensor hibari_pulses(const at::Tensor& pitch_F);

}  // namespace predgen
