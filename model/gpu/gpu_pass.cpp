#include "model/gpu/gpu_pass.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "model/gpu/joined_products.h"
#include "model/pass_guard.h"
#include "model/stream_priority.h"

namespace predgen {

// Shapes: T new tokens, N of them whose logits are asked for, E hidden size, H heads, G key heads,
// D head size, I inner size, V vocabulary.

namespace {

constexpr int64_t kMaxParts = int64_t{1} << 26;  // floats of GpuAttention::parts

// Of GpuPass::inputs_, in bytes.
constexpr size_t kRowsBegin = static_cast<size_t>(kMaxGpuTokens) * sizeof(GpuToken);
constexpr size_t kCachesBegin = kRowsBegin + static_cast<size_t>(kMaxGpuTokens) * sizeof(int32_t);
static_assert(kRowsBegin % alignof(int32_t) == 0 && kCachesBegin % alignof(GpuCache) == 0);

GpuType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat ? GpuType::kFloat32 : GpuType::kBfloat16;
}

const void* data(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

/// Says where the weights lie and which adapters are on: a graph has their addresses.
size_t places_of_weights(const TransformerParts& model) {
  size_t places = 0;
  const auto add = [&](const void* place) {
    places = places * 31 + std::hash<const void*>()(place);
  };
  const auto add_linear = [&](const Linear& linear) {
    add(data(linear.weight));
    add(linear.quantized.get());
    add(data(linear.bias));
    if (!linear.has_adapter()) return;
    add(data(linear.lora_A));
    add(data(linear.lora_B));
    places = places * 31 + std::hash<double>()(linear.lora_scaling);
  };
  add_linear(model.head);
  for (const DecoderLayer& layer : model.layers) {
    for (const Linear* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      add_linear(*linear);
    }
    for (const at::Tensor& norm :
         {layer.attention_norm, layer.mlp_norm, layer.q_norm, layer.k_norm}) {
      add(data(norm));
    }
  }
  return places;
}

}  // namespace

/// A pass's launches on the current stream, in their order.
class GpuPass::Launches {
 public:
  Launches(const GpuPass& pass, const TransformerParts& model, const Kind& kind)
      : kernels_(pass.kernels_),
        config_(model.config),
        model_(model),
        kind_(kind),
        type_(type_of(model.embedding)),
        options_(model.embedding.options()),
        stream_(options_.device().is_cuda() ? current_cuda_stream(options_.device()) : nullptr),
        logits_NV_(pass.logits_.narrow(0, 0, kind.num_logits)) {
    const auto* inputs = static_cast<const char*>(pass.inputs_.const_data_ptr());
    tokens_ = reinterpret_cast<const GpuToken*>(inputs);
    rows_ = reinterpret_cast<const int32_t*>(inputs + kRowsBegin);
    caches_ = reinterpret_cast<const GpuCache*>(inputs + kCachesBegin);
    const int64_t T = kind.num_tokens, D = config_.head_dim, H = config_.num_heads;
    const at::TensorOptions wide = options_.dtype(at::kFloat);
    hidden_TE_ = at::empty({T, config_.hidden_size}, wide);
    x_TE_ = at::empty({T, config_.hidden_size}, options_);
    heads_THD_ = at::empty({T, H * D}, options_);
    gated_TI_ = at::empty({T, config_.intermediate_size}, options_);
    queries_ = at::empty({T, H, D}, wide);
    parts_ = at::empty({T, H, kind.num_chunks, D + 2}, wide);
    angles_ = at::empty({2, T, D / 2}, wide);
  }

  /// Logits [N,V], which the next pass writes over.
  at::Tensor run() {
    embed();
    at::Tensor out;
    at::Tensor out_norm;  // of what `out` is, where norms come after
    for (size_t i = 0; i < model_.layers.size(); ++i) {
      const DecoderLayer& layer = model_.layers[i];
      norm(out, out_norm, layer.attention_norm);
      out = attend(layer, static_cast<int64_t>(i));
      norm(out, layer.attention_norm, layer.mlp_norm);
      out = feed_forward(layer);
      out_norm = layer.mlp_norm;
    }
    if (kind_.num_logits > 0) {
      const at::Tensor x_NE = at::empty({kind_.num_logits, config_.hidden_size}, options_);
      GpuNorm last = norm_of(out, out_norm);
      last.before = data(model_.final_norm);
      last.rows = rows_;
      last.num_rows = static_cast<int>(kind_.num_logits);
      last.x = x_NE.mutable_data_ptr();
      kernels_.norm(type_, last, stream_);
      logits_NV_.copy_(model_.head(x_NE));
    }
    if (const char* problem = kernels_.error()) {
      throw Error("the kernels of a pass cannot be launched: {}", problem);
    }
    return logits_NV_;
  }

 private:
  float* cosines() const { return angles_.mutable_data_ptr<float>(); }
  float* sines() const { return cosines() + angles_.size(1) * angles_.size(2); }
  int num_tokens() const { return static_cast<int>(kind_.num_tokens); }

  void embed() {
    kernels_.embed(type_,
                   {.table = data(model_.embedding),
                    .tokens = tokens_,
                    .frequencies = model_.inverse_frequencies.const_data_ptr<float>(),
                    .factor = static_cast<float>(config_.rope.attention_factor),
                    .num_tokens = num_tokens(),
                    .width = static_cast<int>(config_.hidden_size),
                    .head_dim = static_cast<int>(config_.head_dim),
                    .hidden = hidden_TE_.mutable_data_ptr<float>(),
                    .cosines = cosines(),
                    .sines = sines()},
                   stream_);
  }

  /// `out` [T,E], undefined before the first block, and its norm where norms come after.
  GpuNorm norm_of(const at::Tensor& out, const at::Tensor& weight) const {
    return {.hidden = hidden_TE_.mutable_data_ptr<float>(),
            .out = data(out),
            .after = config_.norm_after && out.defined() ? data(weight) : nullptr,
            .before = nullptr,
            .rows = nullptr,
            .num_rows = num_tokens(),
            .width = static_cast<int>(config_.hidden_size),
            .eps = static_cast<float>(config_.rms_norm_eps),
            .x = nullptr};
  }

  /// Adds `out`; makes the next block's input, normed by `next` where norms come before.
  void norm(const at::Tensor& out, const at::Tensor& out_norm, const at::Tensor& next) {
    GpuNorm norm = norm_of(out, out_norm);
    norm.before = config_.norm_after ? nullptr : data(next);
    norm.x = x_TE_.mutable_data_ptr();
    kernels_.norm(type_, norm, stream_);
  }

  at::Tensor attend(const DecoderLayer& layer, int64_t index) {
    const int H = static_cast<int>(config_.num_heads), G = static_cast<int>(config_.num_kv_heads);
    const int D = static_cast<int>(config_.head_dim);
    const JoinedProducts qkv = JoinedProducts::multiply({&layer.q, &layer.k, &layer.v}, x_TE_);
    const GpuCache* caches = caches_ + index;
    kernels_.place_heads(type_,
                         {.q = qkv.rows[0],
                          .k = qkv.rows[1],
                          .v = qkv.rows[2],
                          .q_stride = qkv.strides[0],
                          .k_stride = qkv.strides[1],
                          .v_stride = qkv.strides[2],
                          .q_weight = data(layer.q_norm),
                          .k_weight = data(layer.k_norm),
                          .norm = config_.qk_norm == QkNorm::kNone   ? GpuHeadNorm::kNone
                                  : config_.qk_norm == QkNorm::kHead ? GpuHeadNorm::kHead
                                                                     : GpuHeadNorm::kWidth,
                          .eps = static_cast<float>(config_.rms_norm_eps),
                          .tokens = tokens_,
                          .caches = caches,
                          .cache_stride = config_.num_layers,
                          .cosines = cosines(),
                          .sines = sines(),
                          .num_tokens = num_tokens(),
                          .num_heads = H,
                          .num_key_heads = G,
                          .head_dim = D,
                          .queries = queries_.mutable_data_ptr<float>()},
                         stream_);
    kernels_.attend(type_,
                    {.queries = queries_.const_data_ptr<float>(),
                     .tokens = tokens_,
                     .caches = caches,
                     .cache_stride = config_.num_layers,
                     .num_tokens = num_tokens(),
                     .num_heads = H,
                     .num_key_heads = G,
                     .head_dim = D,
                     .tile = static_cast<int>(kind_.tile),
                     .num_chunks = static_cast<int>(kind_.num_chunks),
                     .window = static_cast<int>(layer.window),
                     .scale = 1.0f / std::sqrt(static_cast<float>(D)),
                     .parts = parts_.mutable_data_ptr<float>(),
                     .x = heads_THD_.mutable_data_ptr()},
                    stream_);
    return layer.o(heads_THD_);
  }

  at::Tensor feed_forward(const DecoderLayer& layer) {
    const JoinedProducts products = JoinedProducts::multiply({&layer.gate, &layer.up}, x_TE_);
    kernels_.gate(type_,
                  {.gate = products.rows[0],
                   .up = products.rows[1],
                   .gate_stride = products.strides[0],
                   .up_stride = products.strides[1],
                   .num_tokens = num_tokens(),
                   .width = static_cast<int>(config_.intermediate_size),
                   .x = gated_TI_.mutable_data_ptr()},
                  stream_);
    return layer.down(gated_TI_);
  }

  const GpuKernels& kernels_;
  const ModelConfig& config_;
  const TransformerParts& model_;
  const Kind kind_;
  const GpuType type_;
  const at::TensorOptions options_;
  void* const stream_;
  const GpuToken* tokens_;
  const int32_t* rows_;
  const GpuCache* caches_;
  const at::Tensor logits_NV_;
  at::Tensor hidden_TE_, x_TE_, heads_THD_, gated_TI_, queries_, parts_, angles_;
};

std::optional<GpuPass::Kind> GpuPass::kind_of(const TransformerParts& model,
                                              std::span<const SequenceStep> steps) const {
  const ModelConfig& config = model.config;
  const at::Tensor& embedding = model.embedding;
  const at::ScalarType scalar = embedding.scalar_type();
  if (at::autocast::is_autocast_enabled(embedding.device().type())) return {};
  const int64_t shared = config.num_heads / config.num_kv_heads, D = config.head_dim;
  if (model.layers.empty() || model.layers.front().q.training) return {};
  const bool has_shape = D <= kMaxGpuHeadDim && D % 8 == 0 && shared <= kMaxGpuRows;
  if (!has_shape || (scalar != at::kFloat && scalar != at::kBFloat16)) return {};
  if (tokens_.size() > kMaxGpuTokens) return {};
  bool is_whole = embedding.is_contiguous() && is_ready(model.final_norm, embedding);
  for (const DecoderLayer& layer : model.layers) {
    is_whole = is_whole && is_ready(layer.attention_norm, embedding) &&
               is_ready(layer.mlp_norm, embedding) && is_ready(layer.q_norm, embedding) &&
               is_ready(layer.k_norm, embedding);
  }
  if (!is_whole) return {};
  int64_t longest = 0;
  for (const PassToken& token : tokens_.tokens()) longest = std::max(longest, token.place + 1);
  const int64_t chunk = gpu_chunk(type_of(embedding));
  Kind kind;
  kind.num_tokens = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tokens_.size())));
  const auto num_wanted = static_cast<int64_t>(tokens_.wanted().size());
  kind.num_logits = num_wanted <= 1 ? num_wanted : kind.num_tokens;
  kind.num_chunks = 1;
  while (kind.num_chunks * chunk < longest) kind.num_chunks *= 4;  // so that kinds are few
  constexpr int64_t kMostOfATile = 8;
  kind.tile =
      steps.size() > 1 ? 1 : std::min({kMostOfATile, kMaxGpuRows / shared, kind.num_tokens});
  kind.weights = places_of_weights(model);
  if (kind.num_tokens * config.num_heads * kind.num_chunks * (D + 2) > kMaxParts) return {};
  return kind;
}

void GpuPass::upload(const TransformerParts& model, std::span<const SequenceStep> steps,
                     const Kind& kind) {
  const auto num_layers = static_cast<size_t>(model.config.num_layers);
  const size_t most = kCachesBegin + static_cast<size_t>(kMaxGpuTokens) * num_layers *
                                         sizeof(GpuCache);  // a step has a token at least
  if (!inputs_.defined()) {
    host_.resize(most);
    const c10::InferenceMode off(false);  // else they could not be written outside of it
    inputs_ = at::empty({static_cast<int64_t>(most)}, model.embedding.options().dtype(at::kByte));
    logits_ = at::empty({kMaxGpuTokens, model.config.vocab_size},
                        model.embedding.options().dtype(at::kFloat));
  }
  auto* tokens = reinterpret_cast<GpuToken*>(host_.data());
  std::fill_n(
      tokens, kind.num_tokens,
      GpuToken{.id = 0, .step = -1, .place = 0, .position = 0, .num_consecutive = 0, .others = 0});
  for (const PassToken& token : tokens_.tokens()) {
    GpuToken& to = *tokens++;
    to.id = static_cast<int32_t>(token.id);
    to.step = static_cast<int32_t>(token.step);
    to.place = static_cast<int32_t>(token.place);
    to.position = static_cast<int32_t>(token.position);
    to.num_consecutive = static_cast<int32_t>(token.num_consecutive);
    for (const int32_t place : tokens_.others(token)) {
      to.others |= uint64_t{1} << (place - token.num_consecutive);
    }
  }
  auto* rows = reinterpret_cast<int32_t*>(host_.data() + kRowsBegin);
  std::fill_n(rows, kind.num_logits, 0);
  std::ranges::transform(tokens_.wanted(), rows,
                         [](int64_t row) { return static_cast<int32_t>(row); });
  auto* caches = reinterpret_cast<GpuCache*>(host_.data() + kCachesBegin);
  for (const SequenceStep& step : steps) {
    for (int64_t layer = 0; layer < model.config.num_layers; ++layer) {
      const auto [keys, values] =
          step.cache->writable(layer, static_cast<int64_t>(step.tokens.size()));
      *caches++ = {keys.mutable_data_ptr(), values.mutable_data_ptr(), keys.size(2)};
    }
  }
  const auto used = static_cast<int64_t>(reinterpret_cast<char*>(caches) - host_.data());
  inputs_.narrow(0, 0, used).copy_(at::from_blob(host_.data(), {used}, at::kByte));
}

std::optional<at::Tensor> GpuPass::run(const TransformerParts& model,
                                       std::span<const SequenceStep> steps) {
  const PassGuard running(is_running_);
  tokens_.read(steps, model.config.vocab_size);
  const std::optional<Kind> kind = kind_of(model, steps);
  if (!kind || refused_.contains(*kind)) return {};
  const at::Device device = model.embedding.device();
  const c10::DeviceGuard guard(device);
  upload(model, steps, *kind);
  const auto launch = [&] { return Launches(*this, model, *kind).run(); };
  const auto num_wanted = static_cast<int64_t>(tokens_.wanted().size());
  if (!device.is_cuda() || !CapturedGraph::is_available()) {
    return launch().narrow(0, 0, num_wanted).clone();
  }
  if (!memory_) memory_ = std::make_unique<const GraphMemory>(device, StreamPriority::kHigh);
  std::unique_ptr<CapturedGraph>& graph = graphs_[*kind];
  try {
    if (!graph) graph = std::make_unique<CapturedGraph>(*memory_, launch);
  } catch (const c10::OutOfMemoryError&) {
    spdlog::warn("no memory for a graph of passes over {} tokens: they run in LibTorch's operators",
                 kind->num_tokens);
    refused_.insert(*kind);
    return {};
  }
  return graph->replay().narrow(0, 0, num_wanted).clone();
}

}  // namespace predgen
