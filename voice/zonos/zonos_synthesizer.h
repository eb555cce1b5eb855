#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "voice/dac/dac_codec.h"
#include "voice/voice.h"
#include "voice/zonos/code_generation.h"
#include "voice/zonos/phonemizer.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

class ZonosSynthesis;
class ZonosVoice;

/// Speaks with a Zonos voice in one conversation: owns its phonemizer helper and, on CUDA, its
/// graphs and a low-priority stream beside a language model's.
class ZonosSynthesizer : public SpeechSynthesizer {
 public:
  /// Borrows the voice. UserError if the helper cannot be started.
  explicit ZonosSynthesizer(const ZonosVoice& voice);

  int sample_rate() const override;
  std::string language() const override;

  /// A sentence longer than the model speaks well in one go is split into consecutive parts. A part
  /// that cannot be pronounced is left out, with a warning.
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override;

 private:
  friend class ZonosSynthesis;
  /// None for a part without sounds.
  std::optional<CodeGeneration> generate(const std::string& part);

  const ZonosVoice& voice_;
  Phonemizer phonemizer_;
  const c10::Stream stream_;
  std::unique_ptr<GraphedStep> graphs_;  // null: not on CUDA
};

/// One sentence under way. The first step prefills the text, every further one runs a column of
/// codes; the codec runs every few steps, so that sound arrives in pieces.
class ZonosSynthesis : public Synthesis {
 public:
  bool advance(std::vector<float>& samples) override;

 private:
  friend class ZonosSynthesizer;
  ZonosSynthesis(ZonosSynthesizer& synthesizer, std::vector<std::string> parts);
  /// False if the next part has no sounds and was dropped.
  bool start_part();
  bool decodes_now() const;
  void decode(std::vector<float>& samples);
  void append(const at::Tensor& pcm, std::vector<float>& samples);

  ZonosSynthesizer* synthesizer_;
  std::deque<std::string> parts_;  // still to be spoken, excluding the one under way
  std::optional<CodeGeneration> generation_;
  std::optional<DacStream> stream_;
  int64_t num_steps_ = 0;    // of the whole sentence
  int64_t part_steps_ = 0;   // of the part under way
  int64_t num_decoded_ = 0;  // frames given to the codec
  int64_t num_heard_ = 0;    // samples of this part that were returned
  int64_t num_skipped_ = 0;  // samples still to be dropped: those of the audio prefix
};

}  // namespace predgen
