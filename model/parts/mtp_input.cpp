#include "model/parts/mtp_input.h"

#include "model/parts/operators.h"

namespace predgen {
namespace {

constexpr const char *kMtpEmbeddingNorm = "mtp.pre_fc_norm_embedding.weight",
                     *kMtpHiddenNorm = "mtp.pre_fc_norm_hidden.weight", *kMtpProjection = "mtp.fc";

}  // namespace

void MtpInput::add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights) {
  const int64_t E = config.hidden_size;
  weights.push_back({.name = kMtpEmbeddingNorm, .shape = {E}, .is_norm = true});
  weights.push_back({.name = kMtpHiddenNorm, .shape = {E}, .is_norm = true});
  weights.push_back({.name = std::string(kMtpProjection) + ".weight", .shape = {E, 2 * E}});
}

MtpInput::MtpInput(const WeightByName& weight)
    : embedding_norm(weight(kMtpEmbeddingNorm)), hidden_norm(weight(kMtpHiddenNorm)) {
  projection.name = kMtpProjection;
  projection.weight = weight(projection.name + ".weight");
}

void MtpInput::add_tensors(NamedTensors& to) const {
  to.emplace_back(kMtpEmbeddingNorm, embedding_norm);
  to.emplace_back(kMtpHiddenNorm, hidden_norm);
  to.emplace_back(projection.name + ".weight", projection.weight);
}

at::Tensor MtpInput::operator()(const ModelConfig& config, const at::Tensor& embedded_1TE,
                                const at::Tensor& hidden_1TE) const {
  return projection(at::cat(
      {rms_norm(config, embedded_1TE, embedding_norm), rms_norm(config, hidden_1TE, hidden_norm)},
      -1));
}

}  // namespace predgen
