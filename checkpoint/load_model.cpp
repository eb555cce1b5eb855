#include "checkpoint/load_model.h"

#include <algorithm>
#include <set>

#include "checkpoint/model_weights.h"
#include "core/error.h"
#include "core/log.h"
#include "model/device_memory.h"
#include "model/parts/layer_inputs.h"
#include "model/weights/adapter.h"

namespace predgen {
namespace {

/// A placeholder for a matrix that is packed later: its shape without its memory.
at::Tensor shape_alone(const std::vector<int64_t>& shape, at::ScalarType dtype) {
  return at::zeros({1}, dtype).expand(shape);
}

class Loading {
 public:
  Loading(const ModelWeights& weights, LoadOptions options, const std::string& where)
      : weights_(weights), options_(std::move(options)), device_(parse_device(options_.device)) {
    std::vector<WeightSpec> layout = weight_layout(weights.config());
    if (options_.has_mtp && !weights.has_mtp()) {
      throw UserError(
          "{}: has no MTP layer to draft with: the draft model 'own' is for a folder of Qwen3.5 "
          "with "
          "tensors that begin with mtp.",
          where);
    }
    if (options_.has_mtp) {
      for (WeightSpec& weight : mtp_weights(weights.config())) layout.push_back(std::move(weight));
    } else if (weights.has_mtp()) {
      spdlog::info("{}: has an MTP layer, which is left out: the draft model 'own' uses it", where);
    }
    for (const WeightSpec& weight : layout) {
      if (weight.is_wide) wide_.insert(weight.name);
      has_codes_ = has_codes_ || is_coded(weight.name);
    }
    num_values_ = num_values(layout);
    options_.quantization = choose_quantization(options_, device_, has_codes_, where);
    dtype_ = choose_dtype(
        options_, device_,
        cpu_dtype(weights_.shape(kEmbeddingName).dtype, weights_.config().num_parameters()));
    check_room(layout, where);
  }

  at::Tensor load(const std::string& name) {
    // One matrix at a time is unpacked, or sent to the device and quantised there.
    const bool is_quantized = quantization_of(name, options_.quantization) != Quantization::kNone;
    if ((is_quantized || is_as_stored()) && is_coded(name)) {
      return shape_alone(weights_.shape(name).shape, dtype_);
    }
    if (is_quantized) return weights_.tensor(name);
    const bool is_left = options_.leaves_linears && name.starts_with("model.layers.") &&
                         quantization_of(name, Quantization::kInt8) != Quantization::kNone;
    at::Tensor loaded =
        is_left ? weights_.tensor(name)
                : weights_.load(name, device_, wide_.contains(name) ? at::kFloat : dtype_);
    note(loaded.numel());
    return loaded;
  }

  /// Of a model that is packed.
  std::shared_ptr<const Transformer> load_mtp(const Transformer& model) {
    const ModelConfig config = *model.config().mtp();
    auto mtp = std::make_shared<Transformer>(config, [&](const std::string& name) {
      const bool is_shared = name == kEmbeddingName || name == kHeadName;
      return is_shared ? shape_alone({config.vocab_size, config.hidden_size}, model.dtype())
                       : load(name);
    });
    mtp->share_tables(model);
    pack(*mtp);
    return mtp;
  }

  void pack(Transformer& model) {
    if (is_as_stored()) return pack_as_stored(model);
    if (options_.quantization == Quantization::kNone) return;
    double error = 0.0;
    int64_t count = 0;
    model.pack_linears([&](const std::string& name,
                           const at::Tensor& weight) -> std::shared_ptr<const QuantizedWeight> {
      const Quantization kind = quantization_of(name, options_.quantization);
      if (kind == Quantization::kNone) return nullptr;
      const at::Tensor full = is_coded(name) ? weights_.tensor(name) : weight;
      auto packed = std::make_shared<const QuantizedWeight>(full, kind, device_, name);
      weights_.forget(name);
      note(full.numel());
      error += packed->relative_error();
      ++count;
      return packed;
    });
    spdlog::info("quantised: the mean relative error of a weight matrix is {:.4f}",
                 error / static_cast<double>(count));
  }

 private:
  /// Before the machine runs out of memory. What stays a view of the file needs none.
  void check_room(const std::vector<WeightSpec>& layout, const std::string& where) const {
    if (options_.leaves_linears) return;
    int64_t needed = 0;
    for (const WeightSpec& weight : layout) needed += bytes_of(weight);
    const int64_t room = options_.most_bytes > 0 ? options_.most_bytes : memory_left(device_);
    if (needed <= room) return;
    constexpr double kGiB = 1 << 30;
    throw UserError(
        "{}: takes {:.3g} GiB in memory, and {} has {:.3g} left: take fewer bits (--quantize int4, "
        "or a GGUF file in 4 bits) or a smaller model",
        where, static_cast<double>(needed) / kGiB, device_.str(), static_cast<double>(room) / kGiB);
  }

  int64_t bytes_of(const WeightSpec& weight) const {
    const int64_t count = num_values({weight});
    if (is_as_stored() && is_coded(weight.name)) {
      return QuantizedWeight::stored_bytes(*weights_.code_layout(weight.name), count, device_);
    }
    const Quantization kind = quantization_of(weight.name, options_.quantization);
    if (kind != Quantization::kNone && weight.shape.size() == 2) {
      return quantized_bytes(weight.shape[0], weight.shape[1], kind);
    }
    return count * static_cast<int64_t>(c10::elementSize(dtype_));
  }

  /// So many values more are in place.
  void note(int64_t count) {
    num_loaded_ += count;
    if (!options_.on_progress) return;
    const double share = static_cast<double>(num_loaded_) / static_cast<double>(num_values_);
    options_.on_progress(std::min(share, 1.0));  // a tied head is packed once more
  }

  /// Whether this matrix is stored in few bits and can stay so. Not a tied head, and GPUs look up
  /// embeddings in bfloat16.
  bool is_coded(const std::string& name) const {
    const bool is_linear = quantization_of(name, Quantization::kInt8) != Quantization::kNone;
    const bool is_looked_up =
        (name == kEmbeddingName || name == LayerInputs::kTable) && device_.is_cpu();
    return (is_linear || is_looked_up) && !is_tied_head(name) &&
           weights_.code_layout(name).has_value();
  }
  bool is_tied_head(const std::string& name) const {
    return name == kHeadName && weights_.config().tie_word_embeddings;
  }
  bool is_as_stored() const { return options_.quantization == Quantization::kStored; }

  void pack_as_stored(Transformer& model) {
    if (is_coded(kEmbeddingName) && !model.config().reads_hidden)
      model.pack_embedding(packed_as_stored(kEmbeddingName));
    if (weights_.config().layer_input_width > 0 && is_coded(LayerInputs::kTable)) {
      model.pack_layer_inputs(packed_as_stored(LayerInputs::kTable));
    }
    model.pack_linears([&](const std::string& name, const at::Tensor&) {
      const bool is_tied = is_tied_head(name) && weights_.code_layout(kEmbeddingName).has_value();
      return is_coded(name) ? packed_as_stored(name)
                            : (is_tied ? packed_as_stored(kEmbeddingName) : nullptr);
    });
    spdlog::debug(
        "runs as stored: {} matrices in 4 bits, {} in 5 to 8 bits, the rest {}; largest "
        "relative error {:.1e}",
        in_4_bits_, in_more_bits_, dtype_ == at::kFloat ? "fp32" : "bf16", largest_error_);
  }

  std::shared_ptr<const QuantizedWeight> packed_as_stored(const std::string& name) {
    const std::vector<int64_t> shape = weights_.shape(name).shape;
    auto packed = std::make_shared<const QuantizedWeight>(
        *weights_.code_layout(name), shape[0], shape[1],
        [&](int64_t begin, int64_t end) { return weights_.read_codes(name, begin, end); }, device_,
        name);
    weights_.forget(name);
    note(shape[0] * shape[1]);
    if (packed->relative_error() > kMostStoredError) {
      throw UserError("{}: would be off by {:.1e} as stored, in float16 scales: use bf16 or fp32",
                      name, packed->relative_error());
    }
    largest_error_ = std::max(largest_error_, packed->relative_error());
    ++(packed->bits() == 4 ? in_4_bits_ : in_more_bits_);
    return packed;
  }

  static constexpr double kMostStoredError = 2e-3;  // the loss of bfloat16

  const ModelWeights& weights_;
  LoadOptions options_;
  const at::Device device_;
  at::ScalarType dtype_ = at::kFloat;
  bool has_codes_ = false;
  std::set<std::string> wide_;  // WeightSpec::is_wide
  int64_t in_4_bits_ = 0, in_more_bits_ = 0;
  int64_t num_values_ = 0, num_loaded_ = 0;  // of all weights
  double largest_error_ = 0.0;
};

}  // namespace

std::unique_ptr<Transformer> load_model(const Checkpoint& checkpoint,
                                        const std::filesystem::path& adapter,
                                        const LoadOptions& options) {
  const auto kept_adapter =
      adapter.empty() ? nullptr : std::make_shared<const AdapterFolder>(adapter);
  const ModelWeights weights(checkpoint, kept_adapter);
  const bool is_assistant = weights.config().assistant.has_value();
  if (is_assistant && options.guesses_for == nullptr) {
    throw UserError(
        "{}: only guesses what a larger model says: give that as the model, and this one with "
        "--draft-model",
        checkpoint.name());
  }
  Loading loading(weights, options, checkpoint.name());
  auto model = std::make_unique<Transformer>(
      weights.config(), [&](const std::string& name) { return loading.load(name); });
  if (kept_adapter) kept_adapter->attach(*model);
  loading.pack(*model);
  if (is_assistant) model->guess_for(*options.guesses_for, checkpoint.name());
  if (options.has_mtp) model->set_mtp(loading.load_mtp(*model));
  model->set_state_memory(options.state_memory);
  if (!options.leaves_linears) model->join_products();
  if (options.prepares_passes) model->prepare_passes();
  return model;
}

}  // namespace predgen
