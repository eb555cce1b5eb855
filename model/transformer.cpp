#include "model/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "core/error.h"
#include "model/attention_masks.h"
#include "model/cpu/cpu_pass.h"
#include "model/gpu/gpu_pass.h"
#include "model/gpu/gpu_support.h"
#include "model/gpu/joined_products.h"
#include "model/memory_estimate.h"
#include "model/parts/assistant.h"
#include "model/parts/decoder_layer.h"
#include "model/parts/mtp_input.h"
#include "model/parts/operators.h"
#include "model/parts/pass_input.h"

namespace predgen {

// Shapes: B rows, T new tokens, E hidden size, V vocabulary.

namespace {

std::map<std::string, WeightSpec> weights_by_name(const ModelConfig& config) {
  std::map<std::string, WeightSpec> weights;
  for (WeightSpec& spec : weight_layout(config)) {
    const std::string name = spec.name;
    weights[name] = std::move(spec);
  }
  return weights;
}

/// Of the queries that attention gets: what autocast makes of them, where it is on. It would do so
/// with a mask, too, but in every layer, each of which keeps its copy for the backward pass.
at::TensorOptions query_options(at::Device device, at::ScalarType activations) {
  const bool is_cast = at::autocast::is_autocast_enabled(device.type());
  return at::TensorOptions(device).dtype(is_cast ? at::autocast::get_autocast_dtype(device.type())
                                                 : activations);
}

}  // namespace

Transformer::Transformer(const ModelConfig& config,
                         const std::function<at::Tensor(const std::string&)>& weight)
    : config_(config) {
  const std::map<std::string, WeightSpec> weights = weights_by_name(config);
  const auto take = [&](std::string name) {  // undefined if this model has none
    if (config.reads_hidden) name = mtp_name(std::move(name));
    const auto found = weights.find(name);
    if (found == weights.end()) return at::Tensor();
    const at::IntArrayRef shape = found->second.shape;
    at::Tensor tensor = weight(name);
    if (tensor.sizes() != shape) {
      throw UserError("tensor {} has shape {}, config.json wants {}", name,
                      c10::str(tensor.sizes()), c10::str(shape));
    }
    return tensor;
  };
  embedding_ = take(kEmbeddingName);
  activations_ = embedding_.scalar_type();
  for (int64_t i = 0; i < config.num_layers(); ++i) layers_.emplace_back(config, i, take);
  if (config.layer_input_width > 0) layer_inputs_ = std::make_unique<LayerInputs>(take);
  if (config.reads_hidden) {
    mtp_input_ = std::make_unique<MtpInput>(take);
    for (Linear* linear : linears()) linear->name = mtp_name(linear->name);
  }
  if (config.assistant) assistant_ = std::make_unique<Assistant>(*config.assistant, take);
  gives_hidden_ = config.reads_hidden || config.assistant;
  final_norm_ = take(config.final_norm.hugging_face);
  head_.name = "lm_head";
  head_.weight = config.tie_word_embeddings ? embedding_ : take(kHeadName);
  inverse_frequencies_ = config.inverse_frequencies().to(device());
  embedding_scale_ = at::scalar_tensor(config.embedding_scale, dtype()).item<float>();
  if (CpuPass::refusal(config).empty()) cpu_pass_ = std::make_unique<CpuPass>();
  if (embedding_.is_cuda()) set_gpu_kernels(cuda_kernels(device()));
}

Transformer::~Transformer() = default;

std::unique_ptr<Transformer> Transformer::initialize(const ModelConfig& config, uint64_t seed,
                                                     const at::TensorOptions& options) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::map<std::string, WeightSpec> weights = weights_by_name(config);
  return std::make_unique<Transformer>(config, [&](const std::string& name) {
    const WeightSpec& spec = weights.at(name);
    if (spec.is_factor) return at::ones(spec.shape, options);
    if (spec.is_wide) return at::zeros(spec.shape, options.dtype(at::kFloat));
    if (spec.is_norm) return at::full(spec.shape, 1.0 - config.norm_offset, options);
    if (name.ends_with(".bias")) return at::zeros(spec.shape, options);
    return at::empty(spec.shape, at::kFloat)
        .normal_(0.0, config.initializer_range, generator)
        .to(options);
  });
}

KvLayout Transformer::kv_layout() const {
  const int64_t snapshot =
      snapshot_bytes(config_, static_cast<int64_t>(c10::elementSize(activations_)));
  std::vector<std::pair<int64_t, int64_t>> heads;
  bool differ = false;
  for (const LayerSpec& layer : config_.layers) {
    const AttentionSpec& spec = layer.attention;
    if (layer.recurrence || spec.shares >= 0) continue;
    heads.emplace_back(config_.num_kv_heads_of(spec), config_.head_dim_of(spec));
    differ = differ || heads.back() != std::pair{config_.num_kv_heads, config_.head_dim};
  }
  return {.num_layers = config_.num_row_layers(),
          .num_kv_heads = config_.num_kv_heads,
          .head_dim = config_.head_dim,
          .options = embedding_.options().requires_grad(false).dtype(activations_),
          .own_heads = differ ? std::move(heads) : std::vector<std::pair<int64_t, int64_t>>(),
          .in_pieces = cpu_pass_ && has_kernels_ && device().is_cpu(),
          .first_positions = device().is_cuda() ? 2048 : 256,
          .kernels = gpu_pass_ && !differ ? &gpu_pass_->kernels() : nullptr,
          .read_layers = assistant_ ? assistant_->read_layers : std::vector<int64_t>(),
          .num_states = config_.num_states(),
          .bytes_per_snapshot = snapshot,
          .max_snapshots = max_snapshots(snapshot, state_memory_)};
}

int64_t Transformer::num_folded() const {
  const bool differ = std::ranges::any_of(
      config_.layers, [](const LayerSpec& layer) { return layer.attention.num_kv_heads > 0; });
  return device().is_cuda() && !differ ? config_.num_heads / config_.num_kv_heads : 1;
}

at::Tensor Transformer::forward(std::span<const SequenceStep> steps) const {
  const at::NoGradGuard no_grad;
  check_steps(steps);
  if (std::optional<at::Tensor> logits_NV = forward_by_kernels(steps)) {
    for (size_t i = 0; i < steps.size(); ++i) {  // nothing throws now
      steps[i].state->commit(static_cast<int64_t>(steps[i].tokens.size()),
                             is_cpu_pass() ? cpu_pass_->take_states(i) : std::vector<NewStates>());
    }
    return *logits_NV;
  }
  PassInput pass(steps, {.num_states = static_cast<size_t>(config_.num_states()),
                         .num_folded = num_folded(),
                         .options = query_options(device(), activations_)});
  const at::Tensor inputs = pass.inputs_2T.to(device());
  const std::vector<Rotation> rotations =
      make_rotations(config_, inverse_frequencies_, inputs.narrow(0, 1, 1), activations_);
  const at::Tensor gate_1T1 = mask_tokens_.empty() ? at::Tensor() : mask_gate(steps).to(device());
  at::Tensor hidden_1TE = this->inputs(steps, inputs.narrow(0, 0, 1));
  const at::Tensor layer_inputs_1TLP = layer_inputs(inputs.narrow(0, 0, 1), hidden_1TE);
  for (int64_t i = 0; i < config_.num_layers(); ++i) {
    const LayerLease lease = lease_layer(i, i + 1);
    hidden_1TE = layers_[static_cast<size_t>(i)](config_, hidden_1TE, rotations, pass.rows,
                                                 gate_1T1, layer_inputs_1TLP);
  }
  hidden_1TE = norm(hidden_1TE);
  std::vector<at::Tensor> wanted;
  int64_t end = 0;
  for (const SequenceStep& step : steps) {
    const auto num_tokens = static_cast<int64_t>(step.tokens.size());
    if (step.hidden_TE != nullptr) {
      const at::Tensor own_TE = hidden_1TE[0].narrow(0, end, num_tokens);
      *step.hidden_TE = assistant_ ? assistant_->after(own_TE) : own_TE;
    }
    end += num_tokens;
    wanted.push_back(hidden_1TE.narrow(1, end - step.num_logits, step.num_logits));
  }
  at::Tensor logits_NV =
      logits(wanted.size() == 1 ? wanted.front() : at::cat(wanted, 1)).squeeze(0);
  for (CachedRows& rows : pass.rows) {
    rows.state->commit(rows.num_new, std::move(rows.points));  // nothing throws now
  }
  return logits_NV;
}

std::optional<at::Tensor> Transformer::forward_by_kernels(
    std::span<const SequenceStep> steps) const {
  if (!has_kernels_ || layer_store_ || activations_ != embedding_.scalar_type()) return {};
  if (gpu_pass_) return gives_hidden() ? std::nullopt : gpu_pass_->run(parts(), steps);
  if (!cpu_pass_ || !device().is_cpu()) return {};
  if (!mtp_input_) return cpu_pass_->run(parts(), steps);
  TokenIds tokens;
  for (const SequenceStep& step : steps) {
    tokens.insert(tokens.end(), step.tokens.begin(), step.tokens.end());
  }
  const at::Tensor tokens_1T = at::tensor(tokens, at::kLong).unsqueeze(0);
  return cpu_pass_->run(parts(inputs(steps, tokens_1T)), steps);
}

at::Tensor Transformer::inputs(std::span<const SequenceStep> steps,
                               const at::Tensor& tokens_1T) const {
  if (!mtp_input_ && !assistant_) return embed(tokens_1T);
  const int64_t size = assistant_ ? assistant_->spec.hidden_size : config_.hidden_size;
  const at::TensorOptions options = embedding_.options().dtype(activations_);
  std::vector<at::Tensor> given;
  for (const SequenceStep& step : steps) {
    const auto num_tokens = static_cast<int64_t>(step.tokens.size());
    given.push_back(step.given_TE.defined() ? step.given_TE.to(options)
                                            : at::zeros({num_tokens, size}, options));
  }
  const at::Tensor given_1TE = at::cat(given).unsqueeze(0);
  return assistant_ ? assistant_->inputs(tokens_1T, given_1TE)
                    : (*mtp_input_)(config_, embed(tokens_1T), given_1TE);
}

TransformerParts Transformer::parts(const at::Tensor& inputs_1TE) const {
  return {
      .config = config_,
      .embedding = embedding_,
      .packed_embedding = packed_embedding_.get(),
      .layers = layers_,
      .layer_inputs = layer_inputs_.get(),
      .final_norm = final_norm_,
      .head = head_,
      .inverse_frequencies = inverse_frequencies_,
      .embedding_scale = embedding_scale_,
      .adapter_gated = !mask_tokens_.empty(),
      .inputs_TE = inputs_1TE.defined() ? inputs_1TE[0].to(at::kFloat).contiguous() : at::Tensor()};
}

at::Tensor Transformer::hidden_states(const at::Tensor& tokens_BT, const at::Tensor& positions_BT,
                                      const at::Tensor& seen_B1TT) const {
  Rows rows = read_rows(tokens_BT, positions_BT, seen_B1TT);
  at::Tensor hidden_BTE = embed(rows);
  for (int64_t i = 0; i < config_.num_layers(); ++i) {
    const LayerLease lease = lease_layer(i, i + 1);
    hidden_BTE = run_layer(i, hidden_BTE, rows);
  }
  return norm(hidden_BTE);
}

Transformer::Rows Transformer::read_rows(const at::Tensor& tokens_BT,
                                         const at::Tensor& positions_BT,
                                         const at::Tensor& seen_B1TT) const {
  const at::Tensor tokens = tokens_BT.to(device());
  const int64_t T = tokens.size(1);
  const at::Tensor positions = seen_B1TT.defined()
                                   ? positions_BT
                                   : at::arange(T, tokens.options()).expand({tokens.size(0), T});
  return {tokens,
          make_rotations(config_, inverse_frequencies_, positions, activations_),
          {seen_B1TT, positions_BT, T, 0, num_folded(), query_options(device(), activations_)}};
}

at::Tensor Transformer::embed(const Rows& rows) const { return embed(rows.tokens_BT); }

at::Tensor Transformer::layer_inputs(const at::Tensor& tokens_BT,
                                     const at::Tensor& embedded_BTE) const {
  if (!layer_inputs_) return {};
  return (*layer_inputs_)(config_, tokens_BT, embedded_BTE);
}

std::function<at::Tensor(const at::Tensor&)> Transformer::embedder() const {
  return [table = embedding_, packed = packed_embedding_, scale = embedding_scale_,
          type = activations_](const at::Tensor& tokens_BT) {
    const at::Tensor embedded_BTE =
        packed ? packed->rows(tokens_BT).to(table.scalar_type()) : at::embedding(table, tokens_BT);
    return (scale == 1.0f ? embedded_BTE : embedded_BTE * scale).to(type);
  };
}

at::Tensor Transformer::run_layer(int64_t index, const at::Tensor& hidden_BTE, Rows& rows) const {
  const DecoderLayer& layer = layers_[static_cast<size_t>(index)];
  if (index == 0) {
    rows.side.layer_inputs_BTLP = layer_inputs(rows.tokens_BT, hidden_BTE);
  }
  return layer(config_, hidden_BTE, rows.rotations, rows.masks(layer.window()), rows.gate_BT1,
               config_.has_side_inputs() ? &rows.side : nullptr);
}

at::Tensor Transformer::norm(const at::Tensor& hidden_BTE) const {
  return rms_norm(config_, hidden_BTE, final_norm_);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  const at::Tensor products = assistant_ ? assistant_->logits(head_, hidden) : head_(hidden);
  return soft_cap(products.to(at::kFloat), config_.logit_softcap);
}

std::map<std::string, at::Tensor> Transformer::named_weights() const {
  PREDGEN_CHECK(!packed_embedding_, "the embeddings are packed");
  std::map<std::string, at::Tensor> weights{{kEmbeddingName, embedding_},
                                            {config_.final_norm.hugging_face, final_norm_}};
  if (!config_.tie_word_embeddings) weights[kHeadName] = head_.weight;
  for (const Linear* linear : linears()) {
    PREDGEN_CHECK(linear->weight.defined(), "{} is quantised", linear->name);
    weights[linear->name + ".weight"] = linear->weight;
    if (linear->bias.defined()) weights[linear->name + ".bias"] = linear->bias;
  }
  NamedTensors others;
  if (layer_inputs_) layer_inputs_->add_tensors(others);
  for (const DecoderLayer& layer : layers_) {
    for (auto& other : layer.named_others()) others.push_back(std::move(other));
  }
  if (mtp_input_) mtp_input_->add_tensors(others);
  if (assistant_) assistant_->add_tensors(others);
  for (auto& [name, tensor] : others)
    weights[config_.reads_hidden ? mtp_name(name) : name] = tensor;
  return weights;
}

std::vector<Linear*> Transformer::linears() {
  std::vector<Linear*> all;
  for (DecoderLayer& layer : layers_) {
    const std::vector<Linear*> own = layer.linears();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<const Linear*> Transformer::linears() const {
  const std::vector<Linear*> all = const_cast<Transformer*>(this)->linears();
  return {all.begin(), all.end()};
}

void Transformer::set_training(bool training) {
  training_ = training;
  for (Linear* linear : linears()) linear->training = training;
}

void Transformer::set_gpu_kernels(const GpuKernels* kernels, GraphCapture capture) {
  const bool is_taken = kernels && GpuPass::refusal(config_).empty();
  gpu_pass_ = is_taken ? std::make_unique<GpuPass>(*kernels, std::move(capture)) : nullptr;
}

void Transformer::prepare_passes() {
  const at::NoGradGuard no_grad;
  if (gpu_pass_ && has_kernels_ && !layer_store_ && activations_ == dtype()) {
    gpu_pass_->prepare(parts());
  }
}

void Transformer::join_products() {
  if (gpu_pass_) predgen::join_products(layers_);
}

void Transformer::set_adapter_enabled(bool enabled) {
  for (Linear* linear : linears()) linear->adapter_enabled = enabled;
}

void Transformer::pack_linears(const Pack& pack) {
  std::vector<Linear*> packable = linears();
  if (!head_.quantized) packable.push_back(&head_);
  for (Linear* linear : packable) {
    auto packed = pack(linear->name + ".weight", linear->weight);
    if (!packed) continue;
    linear->quantized = std::move(packed);
    linear->weight = at::Tensor();
  }
}

void Transformer::pack_layer_inputs(std::shared_ptr<const QuantizedWeight> packed) {
  layer_inputs_->embedding = at::empty({0, packed->in()}, layer_inputs_->embedding.options());
  layer_inputs_->packed = std::move(packed);
}

void Transformer::pack_embedding(std::shared_ptr<const QuantizedWeight> packed) {
  packed_embedding_ = std::move(packed);
  embedding_ = at::empty({0, config_.hidden_size}, embedding_.options());
  if (!config_.tie_word_embeddings) return;
  head_.quantized = packed_embedding_;
  head_.weight = at::Tensor();
}

void Transformer::share_tables(const Transformer& other) {
  PREDGEN_CHECK(config_.vocab_size == other.config_.vocab_size && dtype() == other.dtype() &&
                    config_.hidden_size == other.config_.hidden_size,
                "tables of another size or type");
  embedding_ = other.embedding_;
  packed_embedding_ = other.packed_embedding_;
  head_ = other.head_;
}

void Transformer::guess_for(Transformer& model, const std::string& where) {
  if (!assistant_) throw UserError("{}: is no assistant of another model", where);
  assistant_->find_layers(config_, model.config_, where);
  assistant_->embed = model.embedder();
  model.gives_hidden_ = true;
}

double Transformer::quantize(Quantization kind) {
  double error = 0.0;
  int64_t count = 0;
  pack_linears([&](const std::string& name,
                   const at::Tensor& weight) -> std::shared_ptr<const QuantizedWeight> {
    const Quantization own = quantization_of(name, kind);
    if (own == Quantization::kNone) return nullptr;
    auto packed = std::make_shared<const QuantizedWeight>(weight, own, device(), name);
    error += packed->relative_error();
    ++count;
    return packed;
  });
  return error / static_cast<double>(count);
}

}  // namespace predgen
