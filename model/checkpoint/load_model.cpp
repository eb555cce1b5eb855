#include "model/checkpoint/load_model.h"

#include "core/log.h"
#include "model/checkpoint/model_weights.h"
#include "model/weights/adapter.h"

namespace predgen {

std::unique_ptr<Transformer> load_model(const Checkpoint& checkpoint,
                                        const std::filesystem::path& adapter,
                                        const LoadOptions& options) {
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = choose_dtype(options, device);
  const auto kept_adapter =
      adapter.empty() ? nullptr : std::make_shared<const AdapterFolder>(adapter);
  const ModelWeights weights(checkpoint, kept_adapter);
  const bool quantizes = options.quantization != Quantization::kNone;
  auto model = std::make_unique<Transformer>(weights.config(), [&](const std::string& name) {
    // One matrix at a time goes to the device to be quantised there.
    const bool waits = quantization_of(name, options.quantization) != Quantization::kNone ||
                       (options.leaves_linears && name.starts_with("model.layers.") &&
                        quantization_of(name, Quantization::kInt8) != Quantization::kNone);
    return waits ? weights.tensor(name) : weights.load(name, device, dtype);
  });
  if (kept_adapter) kept_adapter->attach(*model);
  if (quantizes) {
    const double error = model->quantize(options.quantization,
                                         [&](const std::string& name) { weights.forget(name); });
    spdlog::info("quantised: the mean relative error of a weight matrix is {:.4f}", error);
  }
  model->set_width_invariant(options.width_invariant);
  if (!options.leaves_linears) model->join_products();
  if (options.prepares_passes) model->prepare_passes();
  return model;
}

}  // namespace predgen
