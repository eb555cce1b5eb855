#include "voice/zonos/prefix_conditioner.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace predgen {
namespace {

using ConditionerKind = ZonosConditioner::Kind;

constexpr double kNormEpsilon = 1e-5;  // not in config.json

at::Tensor number(const ZonosConditioner& part, float value) {
  if (!(value >= part.min && value <= part.max)) {
    throw UserError("{} is {}, but must be in {}..{}", part.name, value, part.min, part.max);
  }
  return at::full({1}, value, at::kFloat);
}

at::Tensor emotion_weights(const std::array<float, 8>& emotion) {
  const auto is_bad = [](float weight) { return !(weight >= 0) || !std::isfinite(weight); };
  if (std::any_of(emotion.begin(), emotion.end(), is_bad)) {
    throw UserError(std::string("emotion: every weight must be 0 or more"));
  }
  const at::Tensor weights = at::tensor(at::ArrayRef<float>(emotion), at::kFloat);
  const at::Tensor sum = weights.sum();
  if (!(sum.item<float>() > 0)) {
    throw UserError(std::string("emotion: all weights are 0; leave emotion out instead"));
  }
  return weights / sum;
}

at::Tensor speaker_vector(const at::Tensor& speaker, int64_t width) {
  const at::Tensor vector = speaker.to(at::kCPU, at::kFloat).reshape({-1});
  if (vector.numel() != width) {
    throw UserError("speaker: the embedding has {} numbers, but must have {}", vector.numel(),
                    width);
  }
  if (!at::isfinite(vector).all().item<bool>()) {
    throw UserError(std::string("speaker: the embedding holds numbers that are not finite"));
  }
  return vector;
}

at::Tensor phonemes(const std::vector<int64_t>& ids) {
  if (ids.empty()) throw UserError(std::string("there are no phonemes to say: the text is empty"));
  for (const int64_t id : ids) {
    if (id < 0 || id >= kZonosPhonemes) {
      throw UserError("phoneme id {} is outside of 0..{}", id, kZonosPhonemes - 1);
    }
  }
  return at::tensor(ids, at::kLong);
}

at::Tensor language(const ZonosConditioner& part, int64_t id) {
  if (id < static_cast<int64_t>(part.min) || id > static_cast<int64_t>(part.max)) {
    throw UserError("{} is {}, but must be in {}..{}", part.name, id, part.min, part.max);
  }
  return at::full({1}, id, at::kLong);
}

/// The value given for `part`, or undefined.
at::Tensor value_of(const ZonosConditioner& part, const ZonosConditioning& given) {
  if (part.name == "espeak") return phonemes(given.phoneme_ids);
  if (part.name == "speaker" && given.speaker.defined()) {
    return speaker_vector(given.speaker, part.input_width);
  }
  if (part.name == "emotion" && given.emotion) return emotion_weights(*given.emotion);
  if (part.name == "fmax" && given.fmax) return number(part, *given.fmax);
  if (part.name == "pitch_std" && given.pitch_std) return number(part, *given.pitch_std);
  if (part.name == "speaking_rate" && given.speaking_rate) {
    return number(part, *given.speaking_rate);
  }
  if (part.name == "language_id" && given.language_id) return language(part, *given.language_id);
  return {};
}

}  // namespace

at::Tensor PrefixConditioner::Projection::operator()(at::Tensor input) const {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) input = at::silu(input);
    input = at::linear(input, layers[i].first, layers[i].second);
  }
  return input;
}

PrefixConditioner::Projection PrefixConditioner::take_projection(
    ZonosProjection kind, const std::string& name,
    const std::function<at::Tensor(const std::string&)>& weight) {
  Projection projection;
  const auto take = [&](const std::string& layer) {
    projection.layers.emplace_back(weight(layer + ".weight"), weight(layer + ".bias"));
  };
  if (kind == ZonosProjection::kLinear) take(name);
  if (kind == ZonosProjection::kMlp) {
    take(name + ".0");
    take(name + ".2");
  }
  return projection;
}

PrefixConditioner::PrefixConditioner(const ZonosConfig& config,
                                     const std::function<at::Tensor(const std::string&)>& weight) {
  for (size_t i = 0; i < config.conditioners.size(); ++i) {
    const std::string name = fmt::format("prefix_conditioner.conditioners.{}.", i);
    Part part;
    part.spec = config.conditioners[i];
    if (part.spec.kind == ConditionerKind::kPhonemes)
      part.table = weight(name + "phoneme_embedder.weight");
    if (part.spec.kind == ConditionerKind::kFourier) part.table = weight(name + "weight");
    if (part.spec.kind == ConditionerKind::kInteger)
      part.table = weight(name + "int_embedder.weight");
    if (part.spec.has_unconditional) part.unconditional = weight(name + "uncond_vector");
    part.projection = take_projection(part.spec.projection, name + "project", weight);
    parts_.push_back(std::move(part));
  }
  projection_ = take_projection(config.prefix_projection, "prefix_conditioner.project", weight);
  norm_weight_ = weight("prefix_conditioner.norm.weight");
  norm_bias_ = weight("prefix_conditioner.norm.bias");
}

at::Tensor PrefixConditioner::positions(const Part& part, const at::Tensor& value) const {
  if (!value.defined()) return part.unconditional.unsqueeze(0);
  const at::TensorOptions options = norm_weight_.options();
  at::Tensor output;
  if (part.spec.kind == ConditionerKind::kPassthrough) {
    output = value.to(options).unsqueeze(0);
  } else if (part.spec.kind == ConditionerKind::kFourier) {
    // Scaled before the product, and all in the type of the weights, as in the model's
    // training.
    const at::Tensor scaled =
        ((value - part.spec.min) / (part.spec.max - part.spec.min)).to(options) *
        (2 * std::numbers::pi);
    const at::Tensor angles = at::matmul(scaled.unsqueeze(0), part.table.t());
    output = at::cat({angles.cos(), angles.sin()}, -1);
  } else {
    const int64_t first =
        part.spec.kind == ConditionerKind::kInteger ? static_cast<int64_t>(part.spec.min) : 0;
    output = at::embedding(part.table, (value - first).to(options.device()));
  }
  return part.projection(output);
}

/// UserError for a value that no part of this model accepts.
void PrefixConditioner::refuse_others(const ZonosConditioning& given) const {
  const auto check = [&](const char* name, bool is_given) {
    const auto takes_it = [&](const Part& part) { return part.spec.name == name; };
    if (is_given && std::none_of(parts_.begin(), parts_.end(), takes_it)) {
      throw UserError("{} is given, but this model has no place for it", name);
    }
  };
  check("speaker", given.speaker.defined());
  check("emotion", given.emotion.has_value());
  check("fmax", given.fmax.has_value());
  check("pitch_std", given.pitch_std.has_value());
  check("speaking_rate", given.speaking_rate.has_value());
  check("language_id", given.language_id.has_value());
}

at::Tensor PrefixConditioner::operator()(const ZonosConditioning& conditioning) const {
  refuse_others(conditioning);
  std::vector<at::Tensor> given, unconditional;
  for (const Part& part : parts_) {
    const at::Tensor value = value_of(part.spec, conditioning);
    if (!value.defined() && !part.unconditional.defined()) {
      throw UserError("{} must be given: this model has learned nothing in its place",
                      part.spec.name);
    }
    given.push_back(positions(part, value));
    const bool is_kept = !part.unconditional.defined();
    unconditional.push_back(is_kept ? given.back() : positions(part, {}));
  }
  // One row at a time, as the model was run: products of other shapes may round differently.
  std::vector<at::Tensor> rows;
  for (const auto& parts : {given, unconditional}) {
    rows.push_back(at::layer_norm(projection_(at::cat(parts)), norm_weight_.sizes(), norm_weight_,
                                  norm_bias_, kNormEpsilon));
  }
  return at::stack(rows);
}

}  // namespace predgen
