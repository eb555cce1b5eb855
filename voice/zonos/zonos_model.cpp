#include "voice/zonos/zonos_model.h"

#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "model/weights/weight_check.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace fs = std::filesystem;

ZonosModel::ZonosModel(const ZonosConfig& config, PrefixConditioner conditioner,
                       ZonosBackbone backbone)
    : config_(config), conditioner_(std::move(conditioner)), backbone_(std::move(backbone)) {}

SafetensorsFile open_zonos_weights(const ZonosConfig& config, const fs::path& folder) {
  const fs::path file = folder / "model.safetensors";
  SafetensorsFile stored(file);
  std::vector<std::string> names;
  for (const auto& [name, entry] : stored.entries()) names.push_back(name);
  check_weights(
      config.weight_layout(), names, [&](const std::string& name) { return stored.tensor(name); },
      file.string(), "a Zonos transformer");
  return stored;
}

std::unique_ptr<ZonosModel> ZonosModel::load(const fs::path& folder, const LoadOptions& options) {
  const at::NoGradGuard no_grad;
  if (options.quantization != Quantization::kNone && options.quantization != Quantization::kInt8) {
    throw UserError(std::string("the voice model's weights can be quantised to int8 only"));
  }
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = choose_dtype(options, device);
  const ZonosConfig config = ZonosConfig::load(folder);
  const SafetensorsFile stored = open_zonos_weights(config, folder);
  // A copy: the mapping of the file goes away with this function.
  const auto weight = [&](const std::string& name) {
    return stored.tensor(name).to(device, dtype, /*non_blocking=*/false, /*copy=*/true);
  };
  return std::unique_ptr<ZonosModel>(
      new ZonosModel(config, PrefixConditioner(config, weight),
                     ZonosBackbone(config, weight, device, options.quantization)));
}

at::Tensor ZonosModel::make_prefix(const ZonosConditioning& conditioning) const {
  const at::NoGradGuard no_grad;
  return conditioner_(conditioning);
}

ZonosCache ZonosModel::make_cache(double cfg_scale) const {
  return ZonosCache(config_, ZonosCache::rows_for(cfg_scale), backbone_.options());
}

at::Tensor ZonosModel::prefill(const at::Tensor& prefix_2PD, const at::Tensor& codes_KT,
                               double cfg_scale, ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  PREDGEN_CHECK(cache.length() == 0, "the cache holds {} positions", cache.length());
  const at::Tensor prefix = prefix_2PD.narrow(0, 0, cache.rows()).to(backbone_.options());
  const at::Tensor columns = backbone_.embed(codes_KT.to(device())).unsqueeze(0);
  const at::Tensor input = at::cat({prefix, columns.expand({cache.rows(), -1, -1})}, 1);
  const int64_t T = input.size(1);
  cache.reserve(T);
  const at::Tensor positions = at::arange(T, at::TensorOptions(at::kLong).device(device()));
  const at::Tensor hidden = backbone_.forward(input, positions, T, cache);
  cache.set_length(T);
  return backbone_
      .guided_logits(hidden.select(1, T - 1),
                     at::scalar_tensor(cfg_scale, backbone_.options().dtype(at::kFloat)))
      .to(at::kCPU);
}

at::Tensor ZonosModel::step_on_device(const at::Tensor& codes_K, const at::Tensor& position,
                                      const at::Tensor& scale, int64_t num_seen,
                                      const ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  const at::Tensor input = backbone_.embed(codes_K.unsqueeze(1)).expand({cache.rows(), 1, -1});
  const at::Tensor hidden = backbone_.forward(input, position, num_seen, cache);
  return backbone_.guided_logits(hidden.select(1, 0), scale);
}

at::Tensor ZonosModel::step(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  const int64_t position = cache.length();
  PREDGEN_CHECK(position > 0, "a step before the prefix");
  cache.reserve(position + 1);
  const at::Tensor logits = step_on_device(
      codes_K.to(device()), at::full({1}, position, at::TensorOptions(at::kLong).device(device())),
      at::scalar_tensor(cfg_scale, backbone_.options().dtype(at::kFloat)), position + 1, cache);
  cache.set_length(position + 1);
  return logits.to(at::kCPU);
}

}  // namespace predgen
