#include "model/rotation.h"

namespace predgen {

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
