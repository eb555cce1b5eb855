#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/setting.h"
#include "hear/onnx/onnx_session.h"
#include "voice/clauses/clause_synthesizer.h"
#include "voice/voice.h"

namespace predgen {

/// espeak-ng's American IPA (SpokenPiece::phonemes) in the letters that Hibari was trained on
/// (those of misaki, the front end of Kokoro, from which it was distilled): one letter per
/// diphthong, no length marks, American flaps. tests/voice/hibari/hibari_parity.py measures how
/// close that is to Hibari's own front end.
std::string hibari_phonemes(std::string_view ipa);

/// The ids of Hibari's letters. Immutable.
class HibariAlphabet {
 public:
  /// Reads vocab.json. UserError if it is missing or maps anything but single characters to ids.
  explicit HibariAlphabet(const std::filesystem::path& file);

  /// The ids of hibari_phonemes(), with the 0 at both ends that the network expects. Characters
  /// without an id are left out; empty if none has one.
  std::vector<int64_t> ids(std::string_view phonemes) const;

 private:
  std::map<char32_t, int64_t> ids_;
};

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

constexpr double kSlowestHibari = 0.5, kFastestHibari = 2;

struct HibariSettings {
  double speed = 1;   // of speech: 2 is twice as fast
  uint64_t seed = 0;  // of the noise in the sound, the same for every piece
};

/// Hibari: phonemes to sound at 24 kHz. The network predicts the spectrum of every frame in one
/// pass; samples are computed from it, a third of a second per step.
class HibariNetwork : public PhonemeNetwork {
 public:
  /// UserError if the graph is not Hibari's.
  HibariNetwork(std::shared_ptr<const OnnxGraph> graph, HibariAlphabet alphabet,
                const HibariSettings& settings);
  /// From a folder that has hibari.onnx and vocab.json. UserError if one cannot be used.
  static std::shared_ptr<const HibariNetwork> load(const std::filesystem::path& folder,
                                                   const HibariSettings& settings);

  int sample_rate() const override { return 24000; }
  int64_t longest_piece() const override { return 300; }
  std::unique_ptr<Synthesis> speak(const std::string& phonemes) const override;

  /// The same weights, `factor` times as fast.
  std::shared_ptr<const HibariNetwork> at_speed(double factor) const;
  const HibariSettings& settings() const { return settings_; }
  const HibariAlphabet& alphabet() const { return alphabet_; }
  /// One pass, over ids of alphabet(). Error if the outputs do not have the shapes of Hibari's.
  HibariFrames frames(const std::vector<int64_t>& ids) const;

 private:
  std::shared_ptr<const OnnxGraph> graph_;
  HibariAlphabet alphabet_;
  HibariSettings settings_;
};

/// The Hibari voice: where it is, and how it speaks.
struct HibariOptions {
  std::filesystem::path model{};  // empty: hibari_folder()
  HibariSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program
};

Settings settings_of(HibariOptions& options);

/// Where scripts/fetch_model.py puts the voice.
std::filesystem::path hibari_folder();

/// Hibari as a voice: American English at 24 kHz, faster than speech on one thread of a CPU.
class HibariVoice : public Voice {
 public:
  /// Loads it and says a word. UserError if its folder, ONNX Runtime or espeak-ng's helper is
  /// missing or cannot be used.
  explicit HibariVoice(const HibariOptions& options);
  /// From a loaded network.
  HibariVoice(std::shared_ptr<const HibariNetwork> network, const HibariOptions& options);

  int sample_rate() const override { return network_->sample_rate(); }
  const std::vector<std::string>& names() const override { return names_; }  // "hibari"
  std::string language(const std::string& = {}) const override { return "en-us"; }
  AheadBuffer ahead_buffer() const override { return {}; }
  SpeedRange speeds() const override;
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                 double speed = 1) const override;

 private:
  HibariOptions options_;
  std::vector<std::string> names_{"hibari"};
  std::shared_ptr<const HibariNetwork> network_;
};

}  // namespace predgen
