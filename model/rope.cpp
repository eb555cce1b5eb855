#include "model/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "core/error.h"
#include "model/model_config.h"

namespace predgen {
namespace {

constexpr std::array<std::pair<const char*, RopeKind>, 6> kKinds{{
    {"default", RopeKind::kDefault},
    {"linear", RopeKind::kLinear},
    {"dynamic", RopeKind::kDynamic},
    {"yarn", RopeKind::kYarn},
    {"llama3", RopeKind::kLlama3},
    {"proportional", RopeKind::kProportional},
}};

constexpr double kMaxFactor = 1e6;  // contexts are counted in integers

RopeKind read_kind(const ConfigFields& rope) {
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string name = rope.word(key, "default");
  std::string known;
  for (const auto& [kind_name, kind] : kKinds) {
    if (name == kind_name) return kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind_name);
  }
  throw UserError("{}: \"{}\": \"{}\" is not supported ({})", rope.where(), key, name, known);
}

void refuse_unknown_fields(const ConfigFields& rope) {
  static const std::set<std::string> kKnown{
      "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "beta_fast",
      "beta_slow", "original_max_position_embeddings", "truncate", "mscale", "attention_factor",
      "mscale_all_dim", "low_freq_factor", "high_freq_factor",
      "finetuned",  // which transformers ignores, too
      // Of images; in a text the three positions are one.
      "mrope_section", "mrope_interleaved"};
  for (const auto& [name, value] : rope.json().items()) {
    if (!kKnown.contains(name)) rope.absent(name.c_str());
  }
}

double read_attention_factor(const ConfigFields& rope, double factor) {
  if (rope.has("attention_factor")) return rope.positive("attention_factor");
  const auto is_set = [&](const char* key) { return rope.has(key) && rope.at(key) != 0; };
  if (is_set("mscale") && is_set("mscale_all_dim")) {
    return yarn_attention_factor(factor, rope.positive("mscale")) /
           yarn_attention_factor(factor, rope.positive("mscale_all_dim"));
  }
  return yarn_attention_factor(factor);
}

at::Tensor yarn_frequencies(const RopeConfig& rope, int64_t head_dim, const at::Tensor& plain) {
  const auto dimension_of = [&](double num_rotations) {
    return static_cast<double>(head_dim) *
           std::log(static_cast<double>(rope.original_positions) /
                    (num_rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = dimension_of(rope.beta_fast), high = dimension_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;
  const at::Tensor ramp = ((at::arange(head_dim / 2, at::kFloat) - low) / (high - low)).clamp(0, 1);
  return plain / rope.factor * ramp + plain * (1 - ramp);
}

at::Tensor llama3_frequencies(const RopeConfig& rope, const at::Tensor& plain) {
  const auto original = static_cast<double>(rope.original_positions);
  const at::Tensor wavelengths = 2 * std::numbers::pi / plain;
  const at::Tensor is_long = wavelengths > original / rope.low_frequency_factor;
  const at::Tensor is_short = wavelengths < original / rope.high_frequency_factor;
  const at::Tensor smooth = (original / wavelengths - rope.low_frequency_factor) /
                            (rope.high_frequency_factor - rope.low_frequency_factor);
  const at::Tensor between = (1 - smooth) * plain / rope.factor + smooth * plain;
  return at::where(is_long, plain / rope.factor, at::where(is_short, plain, between));
}

}  // namespace

double yarn_attention_factor(double factor, double weight) {
  return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

RopeConfig RopeConfig::read(const ConfigFields& fields, int64_t max_positions, double usual_theta,
                            double usual_share) {
  constexpr const char* kShare = "partial_rotary_factor";
  const auto read_share = [](const ConfigFields& from, double usual) {
    const double share = from.positive(kShare, usual);
    if (share > 1.0) from.fail(kShare, "must be at most 1");
    return share;
  };
  RopeConfig config;
  if (usual_share == 1.0) fields.only(kShare, 1.0);
  config.share = read_share(fields, usual_share);
  config.theta = fields.positive("rope_theta", usual_theta);
  // If several give a value, transformers 5's choice is used.
  const char* key = fields.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!fields.has(key)) return config;
  if (!fields.at(key).is_object()) fields.fail(key, "must be an object");
  const ConfigFields rope(fields.at(key), fmt::format("{}: \"{}\"", fields.where(), key));
  refuse_unknown_fields(rope);
  config.kind = read_kind(rope);
  config.theta = rope.positive("rope_theta", config.theta);
  if (config.kind == RopeKind::kProportional) {  // turns whole heads, in which some pairs stay
    config.factor = rope.positive("factor", 1.0);
    config.proportion = read_share(rope, config.share);
    config.share = 1.0;
    return config;
  }
  if (usual_share == 1.0) rope.only(kShare, 1.0);
  config.share = read_share(rope, config.share);
  if (config.kind == RopeKind::kDefault) return config;
  config.original_positions =
      fields.size("original_max_position_embeddings",
                  rope.size("original_max_position_embeddings", max_positions));
  const bool is_derived = config.kind == RopeKind::kYarn && rope.is_null("factor");
  config.factor = is_derived ? static_cast<double>(max_positions) /
                                   static_cast<double>(config.original_positions)
                             : rope.positive("factor");
  if (config.factor > kMaxFactor)
    rope.fail("factor", fmt::format("must be at most {:g}", kMaxFactor));
  if (config.kind == RopeKind::kLlama3) {
    config.low_frequency_factor = rope.positive("low_freq_factor");
    config.high_frequency_factor = rope.positive("high_freq_factor");
    if (config.high_frequency_factor <= config.low_frequency_factor) {
      rope.fail("high_freq_factor", "must be above low_freq_factor");
    }
  }
  if (config.kind == RopeKind::kYarn) {
    config.beta_fast = rope.positive("beta_fast", config.beta_fast);
    config.beta_slow = rope.positive("beta_slow", config.beta_slow);
    config.truncate = rope.flag("truncate", true);
    config.attention_factor = read_attention_factor(rope, config.factor);
  }
  return config;
}

void RopeConfig::write(Json& json) const {
  json["rope_theta"] = theta;
  if (share != 1.0) json["partial_rotary_factor"] = share;
  if (kind == RopeKind::kDefault) return;
  Json rope;
  for (const auto& [name, known] : kKinds) {
    if (known == kind) rope["rope_type"] = name;
  }
  rope["factor"] = factor;
  if (kind == RopeKind::kProportional) rope["partial_rotary_factor"] = proportion;
  if (kind == RopeKind::kLlama3) {
    rope["low_freq_factor"] = low_frequency_factor;
    rope["high_freq_factor"] = high_frequency_factor;
  }
  if (kind == RopeKind::kYarn) {
    rope["attention_factor"] = attention_factor;
    rope["beta_fast"] = beta_fast;
    rope["beta_slow"] = beta_slow;
    rope["truncate"] = truncate;
  }
  if (kind == RopeKind::kLlama3 || kind == RopeKind::kYarn) {
    rope["original_max_position_embeddings"] = original_positions;
  }
  json["rope_scaling"] = std::move(rope);
}

int64_t RopeConfig::context_length(int64_t max_positions) const {
  const auto stretched = [&](int64_t positions) {
    return static_cast<int64_t>(static_cast<double>(positions) * std::max(factor, 1.0));
  };
  if (kind == RopeKind::kYarn) return std::max(max_positions, stretched(original_positions));
  return kind == RopeKind::kLinear ? stretched(max_positions) : max_positions;
}

double RopeConfig::query_scale(int64_t position) const {
  if (query_beta == 0.0) return 1.0;
  return 1.0 + query_beta * std::log1p(static_cast<double>(position / original_positions));
}

int64_t RopeConfig::rotary_dim(int64_t head_dim) const {
  return static_cast<int64_t>(static_cast<double>(head_dim) * share);
}

at::Tensor RopeConfig::inverse_frequencies(int64_t whole_head) const {
  const int64_t head_dim = rotary_dim(whole_head);
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  at::Tensor plain = at::pow(theta, exponents).reciprocal();
  switch (kind) {
    case RopeKind::kDefault:
    case RopeKind::kDynamic:
      return plain;
    case RopeKind::kLinear:
      return plain / factor;
    case RopeKind::kYarn:
      return yarn_frequencies(*this, head_dim, plain);
    case RopeKind::kLlama3:
      return llama3_frequencies(*this, plain);
    case RopeKind::kProportional: {
      const auto turned = static_cast<int64_t>(proportion * static_cast<double>(head_dim)) / 2;
      plain.narrow(0, turned, head_dim / 2 - turned).zero_();
      return plain / factor;
    }
    case RopeKind::kNone:
      return at::zeros_like(plain);
  }
  throw Error("unknown rotary embedding");
}

Rotation::Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
                   const at::Tensor& positions_BT, at::ScalarType type) {
  const at::Tensor angles = positions_BT.to(at::kFloat).unsqueeze(-1) * inverse_frequencies;
  const auto scaled = [&](const at::Tensor& first_half, const at::Tensor& second_half) {
    const at::Tensor wave = at::cat({first_half, second_half}, -1);
    const double factor = rope.attention_factor;
    return (factor == 1.0 ? wave : wave * factor).unsqueeze(1).to(type);
  };
  const at::Tensor cosines = at::cos(angles), sines = at::sin(angles);
  cos = scaled(cosines, cosines);
  signed_sin = scaled(-sines, sines);
  if (rope.query_beta == 0.0) return;
  const at::Tensor steps =
      at::floor(positions_BT.to(at::kFloat) / static_cast<double>(rope.original_positions));
  query_scale = (1.0 + rope.query_beta * at::log(1.0 + steps)).unsqueeze(1).unsqueeze(-1).to(type);
}

at::Tensor Rotation::operator()(const at::Tensor& x_BHTD) const {
  const int64_t R = cos.size(-1), D = x_BHTD.size(-1);
  const auto halves = x_BHTD.narrow(-1, 0, R).chunk(2, -1);
  const at::Tensor turned =
      x_BHTD.narrow(-1, 0, R) * cos + at::cat({halves[1], halves[0]}, -1) * signed_sin;
  return R == D ? turned : at::cat({turned, x_BHTD.narrow(-1, R, D - R)}, -1);
}

at::Tensor Rotation::of_queries(const at::Tensor& x_BHTD) const {
  const at::Tensor turned = (*this)(x_BHTD);
  return query_scale.defined() ? turned * query_scale : turned;
}

std::vector<Rotation> make_rotations(const ModelConfig& config,
                                     const at::Tensor& inverse_frequencies,
                                     const at::Tensor& positions_BT, at::ScalarType type) {
  std::vector<Rotation> rotations;
  for (size_t i = 0; i < config.ropes.size(); ++i) {
    const RopeConfig& rope = config.ropes[i];
    const int64_t num_pairs = rope.rotary_dim(config.head_dim_of(rope)) / 2;
    rotations.emplace_back(rope,
                           inverse_frequencies[static_cast<int64_t>(i)].narrow(0, 0, num_pairs),
                           positions_BT, type);
  }
  return rotations;
}

}  // namespace predgen
