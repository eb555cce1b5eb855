#pragma once

#include <ATen/ATen.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "voice/zonos/zonos_config.h"

namespace predgen {

/// What a voice should say and how. Fields not given are left to the model ("unconditional").
struct ZonosConditioning {
  std::vector<int64_t> phoneme_ids;  // ids in [0,189), begin and end symbols included; not empty
  at::Tensor speaker;                // float [128], of the speaker embedding; undefined: not given
  /// Weights of happiness, sadness, disgust, fear, surprise, anger, other, neutral; >= 0,
  /// normalised to sum to 1.
  std::optional<std::array<float, 8>> emotion;
  std::optional<float> fmax;           // highest frequency in Hz, 0..24000; 22050 is usual
  std::optional<float> pitch_std;      // 0..400; 20..45 normal, 60..150 expressive
  std::optional<float> speaking_rate;  // phonemes per second, 0..40; 15 is usual
  std::optional<int64_t> language_id;  // index in zonos_languages(); en-us is 24
};

/// Converts conditioning to the positions before the first audio token. Immutable.
class PrefixConditioner {
 public:
  /// `weight(name)` gives each tensor of "prefix_conditioner." on its device and in its type.
  PrefixConditioner(const ZonosConfig& config,
                    const std::function<at::Tensor(const std::string&)>& weight);

  /// [2,P,D] in the type and on the device of the weights: row 0 as given, row 1 with only the same
  /// phonemes. P = phonemes + 6 for the released model. UserError names a value that is out of
  /// range or that this model does not support.
  at::Tensor operator()(const ZonosConditioning& conditioning) const;

 private:
  struct Projection {
    std::vector<std::pair<at::Tensor, at::Tensor>> layers;  // weight, bias; SiLU between two
    at::Tensor operator()(at::Tensor input) const;
  };
  struct Part {
    ZonosConditioner spec;
    at::Tensor table;          // embeddings [n,D] or frequencies [D/2,n]; undefined: passthrough
    at::Tensor unconditional;  // [D] or undefined
    Projection projection;
  };
  static Projection take_projection(ZonosProjection kind, const std::string& name,
                                    const std::function<at::Tensor(const std::string&)>& weight);
  void refuse_others(const ZonosConditioning& given) const;
  /// [n,D]; `value` float [input_width] or int64 ids, undefined: not given.
  at::Tensor positions(const Part& part, const at::Tensor& value) const;

  std::vector<Part> parts_;
  Projection projection_;
  at::Tensor norm_weight_, norm_bias_;  // [D]
};

}  // namespace predgen
