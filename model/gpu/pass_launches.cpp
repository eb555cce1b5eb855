#include "model/gpu/pass_launches.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "model/gpu/pass_products.h"
#include "model/stream_priority.h"

namespace predgen {

bool PassGraphs::prepare(const PassKind& kind, const PassWork& work) {
  const auto found =
      std::ranges::find_if(graphs_, [&](const Graph& graph) { return graph.kind == kind; });
  if (found != graphs_.end()) {
    std::rotate(graphs_.begin(), found, found + 1);
    return static_cast<bool>(graphs_.front().replay);
  }
  if (graphs_.size() == kMost) graphs_.pop_back();
  PassWork replay;
  try {
    replay = capture_(work);
  } catch (const c10::OutOfMemoryError&) {
    spdlog::warn(
        "no memory for a graph of passes over {} tokens: they are launched kernel by kernel",
        kind.num_tokens);
  }
  graphs_.insert(graphs_.begin(), {kind, std::move(replay)});
  return static_cast<bool>(graphs_.front().replay);
}

at::Tensor PassGraphs::run(const PassKind& kind, const PassWork& work) {
  prepare(kind, work);
  const PassWork& replay = graphs_.front().replay;
  return replay ? replay() : work();
}

// Shapes: T new tokens, N of them with logits requested, E hidden size, H heads, G key heads, D
// head size, I inner size, V vocabulary.

namespace {

// Blocks of a tile's attention: enough for a GPU, and few parts to merge. They do not depend on the
// pass, so a token's bits do not, either.
constexpr int64_t kBlocksOfATile = 256, kLeastSplits = 8, kMostSplits = 64;

GpuType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat ? GpuType::kFloat32 : GpuType::kBfloat16;
}

/// Fewer if no token sees so many keys, as the parts of many tokens are large: each split then has
/// one chunk, so no bits change.
int64_t num_splits(const ModelConfig& config, int64_t num_keys) {
  const int64_t splits =
      std::clamp(kBlocksOfATile / config.num_kv_heads, kLeastSplits, kMostSplits);
  const int64_t most = num_keys > 0 ? num_keys : config.context_length();
  return std::min(splits, (most + kGpuChunk - 1) / kGpuChunk);
}

/// What a product reads most of; undefined if it does not read it on a GPU.
at::Tensor codes_of(const Linear& linear) {
  return linear.quantized ? linear.quantized->words() : linear.weight;
}

/// From byte `begin` on, at most so many.
GpuReadAhead ahead_of(const at::Tensor& codes, int64_t begin, int64_t most) {
  if (!codes.defined()) return {};
  const int64_t left = static_cast<int64_t>(codes.nbytes()) - begin;
  return {.from = {static_cast<const char*>(codes.const_data_ptr()) + begin, nullptr},
          .bytes = {std::min(left, most), 0}};
}

/// A pass's launches on the current stream, in order.
class PassLaunches {
 public:
  PassLaunches(const GpuKernels& kernels, const TransformerParts& model, const PassKind& kind,
               const PassMemory& memory)
      : kernels_(kernels),
        config_(model.config),
        model_(model),
        kind_(kind),
        l2_bytes_(memory.l2_bytes),
        type_(type_of(model.embedding)),
        options_(model.embedding.options()),
        stream_(options_.device().is_cuda() ? current_cuda_stream(options_.device()) : nullptr),
        logits_NV_(memory.logits.narrow(0, 0, kind.num_logits)) {
    const auto* inputs = static_cast<const char*>(memory.inputs.const_data_ptr());
    tokens_ = reinterpret_cast<const GpuToken*>(inputs);
    rows_ = reinterpret_cast<const int32_t*>(inputs + memory.rows_begin());
    if (kind.num_tiles > 0) {
      tiles_ = reinterpret_cast<const int32_t*>(inputs + memory.tiles_begin());
    }
    caches_ = reinterpret_cast<const GpuCache*>(inputs + memory.caches_begin());
    counters_ = memory.counters.mutable_data_ptr<int>();
    products_.emplace(kernels, tokens_, memory.counters);
    const int64_t T = kind.num_tokens, D = config_.head_dim, H = config_.num_heads;
    const at::TensorOptions wide = options_.dtype(at::kFloat);
    hidden_TE_ = at::empty({T, config_.hidden_size}, wide);
    x_TE_ = at::empty({T, config_.hidden_size}, options_);
    heads_THD_ = at::empty({T, H * D}, options_);
    gated_TI_ = at::empty({T, config_.intermediate_size}, options_);
    queries_ = at::empty({T, H, D}, wide);
    num_splits_ = num_splits(config_, kind.num_keys);
    parts_ = at::empty({T, H, num_splits_, D + 2}, wide);
    angles_ = at::empty({2, config_.num_ropes(), T, D / 2}, wide);
  }

  /// Logits [N,V], which the next pass overwrites.
  at::Tensor run() {
    embed();
    at::Tensor out;
    at::Tensor out_norm;  // of `out`, if there is a norm after
    for (size_t i = 0; i < model_.layers.size(); ++i) {
      const DecoderLayer& layer = model_.layers[i];
      norm(out, out_norm, layer.attention_norm.before,
           ahead_of(codes_of(layer.attention->q), 0, l2_bytes_ / kNormPartsOfL2));
      const at::Tensor mlp = codes_of(layer.feed_forward->gate);
      const GpuReadAhead ahead = ahead_of_attention(codes_of(layer.attention->o), mlp);
      out = attend(*layer.attention, static_cast<int64_t>(i), ahead);
      norm(out, layer.attention_norm.after, layer.mlp_norm.before,
           ahead_of(mlp, ahead.bytes[1], l2_bytes_ / kNormPartsOfL2));
      out = feed_forward(*layer.feed_forward);
      out_norm = layer.mlp_norm.after;
    }
    if (kind_.num_logits > 0) {
      const at::Tensor x_NE = at::empty({kind_.num_logits, config_.hidden_size}, options_);
      GpuNorm last = norm_of(out, out_norm);
      last.before = data_of(model_.final_norm);
      last.rows = rows_;
      last.num_rows = static_cast<int>(kind_.num_logits);
      last.x = x_NE.mutable_data_ptr();
      kernels_.norm(type_, last, stream_);
      logits_NV_.copy_(products_->wide(model_.head, x_NE));
    }
    if (const char* problem = kernels_.error()) {
      throw Error("the kernels of a pass cannot be launched: {}", problem);
    }
    return logits_NV_;
  }

 private:
  float* cosines(int64_t rope = 0) const { return angles_[0][rope].mutable_data_ptr<float>(); }
  float* sines(int64_t rope = 0) const { return angles_[1][rope].mutable_data_ptr<float>(); }
  int num_tokens() const { return static_cast<int>(kind_.num_tokens); }

  float factor(int64_t rope) const {
    return static_cast<float>(config_.ropes[static_cast<size_t>(rope)].attention_factor);
  }

  void embed() {
    kernels_.embed(type_,
                   {.table = data_of(model_.embedding),
                    .tokens = tokens_,
                    .frequencies = model_.inverse_frequencies.const_data_ptr<float>(),
                    .factors = {factor(0), factor(config_.num_ropes() - 1)},
                    .scale = model_.embedding_scale,
                    .num_tokens = num_tokens(),
                    .width = static_cast<int>(config_.hidden_size),
                    .head_dim = static_cast<int>(config_.head_dim),
                    .num_ropes = static_cast<int>(config_.num_ropes()),
                    .hidden = hidden_TE_.mutable_data_ptr<float>(),
                    .cosines = cosines(),
                    .sines = sines()},
                   stream_);
  }

  /// `out` [T,E], undefined before the first block; `weight` of its output norm, if any.
  GpuNorm norm_of(const at::Tensor& out, const at::Tensor& weight) const {
    return {.hidden = hidden_TE_.mutable_data_ptr<float>(),
            .out = data_of(out),
            .after = out.defined() ? data_of(weight) : nullptr,
            .before = nullptr,
            .rows = nullptr,
            .num_rows = num_tokens(),
            .width = static_cast<int>(config_.hidden_size),
            .eps = static_cast<float>(config_.rms_norm_eps),
            .offset = static_cast<float>(config_.norm_offset),
            .x = nullptr};
  }

  /// Adds `out`; makes the next block's input, normed by `next` if there is a norm before it.
  void norm(const at::Tensor& out, const at::Tensor& out_norm, const at::Tensor& next,
            const GpuReadAhead& ahead) {
    GpuNorm norm = norm_of(out, out_norm);
    norm.ahead = ahead;
    norm.before = data_of(next);
    norm.x = x_TE_.mutable_data_ptr();
    kernels_.norm(type_, norm, stream_);
  }

  /// The output's product, then the one after it.
  GpuReadAhead ahead_of_attention(const at::Tensor& out, const at::Tensor& mlp) const {
    const int64_t most = l2_bytes_ / kAttentionPartsOfL2;
    GpuReadAhead ahead = ahead_of(out, 0, most);
    const GpuReadAhead next = ahead_of(mlp, 0, most - ahead.bytes[0]);
    ahead.from[1] = next.from[0];
    ahead.bytes[1] = next.bytes[0];
    return ahead;
  }

  at::Tensor attend(const Attention& attention, int64_t index, const GpuReadAhead& ahead) {
    const int H = static_cast<int>(config_.num_heads), G = static_cast<int>(config_.num_kv_heads);
    const int D = static_cast<int>(config_.head_dim);
    const AttentionSpec& spec = attention.spec;
    const auto scalar = static_cast<float>(spec.query_scalar > 0 ? spec.query_scalar : D);
    const JoinedProducts qkv = products_->joined({&attention.q, &attention.k, &attention.v}, x_TE_);
    const GpuCache* caches = caches_ + index;
    kernels_.place_heads(type_,
                         {.q = qkv.rows[0],
                          .k = qkv.rows[1],
                          .v = qkv.rows[2],
                          .q_stride = qkv.strides[0],
                          .k_stride = qkv.strides[1],
                          .v_stride = qkv.strides[2],
                          .q_weight = data_of(attention.q_norm),
                          .k_weight = data_of(attention.k_norm),
                          .norm = spec.qk_norm == QkNorm::kNone   ? GpuHeadNorm::kNone
                                  : spec.qk_norm == QkNorm::kHead ? GpuHeadNorm::kHead
                                                                  : GpuHeadNorm::kWidth,
                          .eps = static_cast<float>(config_.rms_norm_eps),
                          .offset = static_cast<float>(config_.norm_offset),
                          .tokens = tokens_,
                          .caches = caches,
                          .cache_stride = config_.num_layers(),
                          .cosines = cosines(spec.rope),
                          .sines = sines(spec.rope),
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
                     .cache_stride = config_.num_layers(),
                     .num_tokens = num_tokens(),
                     .num_heads = H,
                     .num_key_heads = G,
                     .head_dim = D,
                     .tile = static_cast<int>(kind_.tile),
                     .num_splits = static_cast<int>(num_splits_),
                     .window = static_cast<int>(spec.window),
                     .scale = 1.0f / std::sqrt(scalar),
                     .parts = parts_.mutable_data_ptr<float>(),
                     .x = heads_THD_.mutable_data_ptr(),
                     .tiles = tiles_,
                     .num_tiles = static_cast<int>(
                         tiles_ ? kind_.num_tiles : (kind_.num_tokens - 1) / kind_.tile + 1),
                     .counters = counters_,
                     .ahead = ahead},
                    stream_);
    return (*products_)(attention.o, heads_THD_);
  }

  at::Tensor feed_forward(const FeedForward& mlp) {
    const JoinedProducts products = products_->joined({&mlp.gate, &mlp.up}, x_TE_);
    kernels_.gate(type_,
                  {.gate = products.rows[0],
                   .up = products.rows[1],
                   .gate_stride = products.strides[0],
                   .up_stride = products.strides[1],
                   .num_tokens = num_tokens(),
                   .width = static_cast<int>(config_.intermediate_size),
                   .is_gelu = mlp.spec.activation == Activation::kGeluTanh,
                   .x = gated_TI_.mutable_data_ptr(),
                   .ahead = ahead_of(codes_of(mlp.down), 0, l2_bytes_ / kGatePartsOfL2)},
                  stream_);
    return (*products_)(mlp.down, gated_TI_);
  }

  const GpuKernels& kernels_;
  const ModelConfig& config_;
  const TransformerParts& model_;
  const PassKind kind_;
  const int64_t l2_bytes_;
  const GpuType type_;
  const at::TensorOptions options_;
  void* const stream_;
  const GpuToken* tokens_;
  const int32_t* rows_;
  const int32_t* tiles_ = nullptr;
  const GpuCache* caches_;
  int* counters_;
  const at::Tensor logits_NV_;
  std::optional<PassProducts> products_;
  int64_t num_splits_ = 0;
  at::Tensor hidden_TE_, x_TE_, heads_THD_, gated_TI_, queries_, parts_, angles_;
};

}  // namespace

at::Tensor launch_pass(const GpuKernels& kernels, const TransformerParts& model,
                       const PassKind& kind, const PassMemory& memory) {
  return PassLaunches(kernels, model, kind, memory).run();
}

}  // namespace predgen
