#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/setting.h"
#include "model/load_options.h"
#include "voice/dac/dac_codec.h"
#include "voice/voice.h"
#include "voice/zonos/code_generation.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

/// The cost of speaking on this machine. Its two parts run sequentially.
struct ZonosSpeed {
  double seconds_per_step = 0;        // median, per column of codes
  double steps_per_second = 0;        // of sound
  double codec_real_time_factor = 0;  // seconds of work for a second of sound

  /// Seconds of work, steps and codec together, per second of sound: below 1 the voice keeps up.
  double real_time_factor() const {
    return seconds_per_step * steps_per_second + codec_real_time_factor;
  }
};

/// Runs some columns after a short text, and the codec in the same pieces in which a sentence
/// is decoded; weights may have any values. Throws Interrupted after a stop.
ZonosSpeed measure_zonos(const ZonosModel& model, const DacDecoder& decoder,
                         const CodeGenerationConfig& config, const std::stop_token& stop);

/// A Zonos voice: its files, how it speaks, and how far ahead.
struct ZonosOptions {
  std::filesystem::path model, codec, speaker_model, voice, audio_prefix;
  std::string language = "en-us";
  bool english_numbers = true;  // as the model was trained

  std::vector<double> emotion = {0.3077, 0.0256, 0.0256, 0.0256, 0.0256, 0.0256, 0.2564, 0.3077};
  double fmax = 22050, pitch_std = 20, speaking_rate = 15;
  std::vector<std::string> unconditional;
  CodeGenerationConfig generation;

  int64_t ahead_steps = 34;
  /// Plays up to the last frame of the ahead buffer, without the codec's look-ahead of 108 ms. Its
  /// last 10 frames are approximate, and so is the seam after them.
  bool edge = false;

  LoadOptions load;
  std::filesystem::path espeak_helper;  // empty: predgen-espeak beside this program

  std::filesystem::path codec_folder() const { return codec.empty() ? model / "dac_44khz" : codec; }
  AheadBuffer ahead_buffer() const { return {.audio = Seconds(1e6), .steps = ahead_steps}; }
};

Settings settings_of(ZonosOptions& options);

/// Zonos-v0.1 as a voice at 44.1 kHz: the weights of the model and its codec, and the speaker.
class ZonosVoice : public Voice {
 public:
  /// Loads everything and tries it. UserError names the file, value or language that cannot be
  /// used.
  explicit ZonosVoice(const ZonosOptions& options);

  int sample_rate() const override { return static_cast<int>(decoder_->config().sample_rate); }
  /// One: the name of the speaker's file, or "zonos".
  const std::vector<std::string>& names() const override { return names_; }
  std::string language(const std::string& = {}) const override { return options_.language; }
  AheadBuffer ahead_buffer() const override { return options_.ahead_buffer(); }
  SpeedRange speeds() const override { return {}; }
  std::unique_ptr<SpeechSynthesizer> synthesizer(const std::string& name = {},
                                                 double speed = 1) const override;

  const ZonosOptions& options() const { return options_; }
  const ZonosModel& model() const { return *model_; }
  const DacDecoder& decoder() const { return *decoder_; }
  const ZonosConditioning& conditioning() const { return conditioning_; }  // all but the phonemes
  /// Codes int64 [9,P] of the sound that the speech continues; undefined: none.
  const at::Tensor& audio_prefix_KP() const { return audio_prefix_KP_; }

  /// Measures the cost of a step and of a second of the codec here.
  ZonosSpeed measure(const std::stop_token& stop) const {
    return measure_zonos(*model_, *decoder_, options_.generation, stop);
  }

  /// UserError unless the folder holds a codec of Zonos' kind: descript/dac_44khz.
  static void check_codec(const std::filesystem::path& folder);

 private:
  void try_out() const;

  const ZonosOptions options_;
  std::vector<std::string> names_;
  ZonosConditioning conditioning_;
  std::unique_ptr<const ZonosModel> model_;
  std::unique_ptr<const DacDecoder> decoder_;
  at::Tensor audio_prefix_KP_;
};

}  // namespace predgen
