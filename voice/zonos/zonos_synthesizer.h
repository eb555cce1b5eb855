#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "voice/dac/dac_stream.h"
#include "voice/speech_synthesizer.h"
#include "voice/zonos/code_generation.h"
#include "voice/zonos/phonemizer.h"
#include "voice/zonos/zonos_model.h"
#include "voice/zonos/zonos_options.h"
#include "voice/zonos/zonos_speed.h"

namespace predgen {

class ZonosSynthesis;

/// Zonos-v0.1 as a voice: text, phonemes, codes, sound at 44.1 kHz. On CUDA its work runs on a
/// stream of low priority, beside a language model's.
class ZonosSynthesizer : public SpeechSynthesizer {
 public:
  /// Loads everything and tries it. UserError names the file, value or language that cannot be
  /// used.
  explicit ZonosSynthesizer(const ZonosOptions& options);

  int sample_rate() const override { return static_cast<int>(decoder_->config().sample_rate); }
  std::string language() const override { return options_.language; }

  /// A sentence that is longer than the model speaks well at once is cut into parts, which follow
  /// one another. A part that cannot be pronounced is left out, with a warning.
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override;
  std::unique_ptr<ZonosSynthesis> begin_utterance(const std::string& spoken);

  const ZonosModel& model() const { return *model_; }
  /// What a step and a second of the codec cost here.
  ZonosSpeed measure(const std::stop_token& stop) const {
    return measure_zonos(*model_, *decoder_, options_.generation, stop);
  }

  /// UserError unless the folder holds a codec of Zonos' kind: descript/dac_44khz.
  static void check_codec(const std::filesystem::path& folder);

 private:
  friend class ZonosSynthesis;
  struct AudioPrefix {
    at::Tensor codes_KP;
    int64_t num_samples = 0;
  };
  void try_out();
  at::Tensor audio_prefix_codes(const DacWeights& weights) const;
  /// None for a part without sounds.
  std::optional<CodeGeneration> generate(const std::string& part);

  ZonosOptions options_;
  std::unique_ptr<ZonosModel> model_;
  std::unique_ptr<DacDecoder> decoder_;
  Phonemizer phonemizer_;
  ZonosConditioning conditioning_;  // all but the phonemes
  std::optional<AudioPrefix> audio_prefix_;
  std::optional<c10::Stream> stream_;  // set by the constructor
};

/// One sentence under way. The first step runs the text, every further one a column of codes; the
/// codec follows every few steps, so that sound comes in pieces.
class ZonosSynthesis : public Synthesis {
 public:
  bool advance(std::vector<float>& samples) override;

  /// An independent copy: both go on from here, with the same samples to the bit.
  std::unique_ptr<ZonosSynthesis> save() const;

  int64_t num_bytes() const;  // of state

 private:
  friend class ZonosSynthesizer;
  ZonosSynthesis(ZonosSynthesizer& synthesizer, std::vector<std::string> parts);
  /// False if the next part has no sounds and was dropped.
  bool start_part();
  bool decodes_now() const;
  void decode(std::vector<float>& samples);
  void append(const at::Tensor& pcm, std::vector<float>& samples);

  ZonosSynthesizer* synthesizer_;
  std::deque<std::string> parts_;  // still to be spoken, the one under way not included
  std::optional<CodeGeneration> generation_;
  std::optional<DacStream> stream_;
  int64_t num_steps_ = 0;    // of the whole sentence
  int64_t part_steps_ = 0;   // of the part under way
  int64_t num_decoded_ = 0;  // frames given to the codec
  int64_t num_heard_ = 0;    // samples of this part that were returned
  int64_t num_skipped_ = 0;  // samples still to be dropped: those of the audio prefix
};

}  // namespace predgen
