#include "model/gpu/gpu_pass.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "core/log.h"
#include "model/gpu/captured_graph.h"
#include "model/gpu/gpu_matrix.h"
#include "model/pass_tokens.h"
#include "model/stream_priority.h"

namespace predgen {

// Shapes: T new tokens, N of them with logits requested, E hidden size, H heads, G key heads, D
// head size, I inner size, V vocabulary.

namespace {

constexpr int64_t kMostOfATile = 8;
/// What a graph's tokens are padded to. Products take eight rows at a time.
constexpr int64_t kWidths[] = {1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 72, kMaxGpuTokens};
/// The widest pass whose logits prepare() captures: drafts of 64 and ends of prompts.
constexpr int64_t kWidestPrepared = 72;
/// The most tokens over several sequences: each needs memory for its partial attention.
constexpr int64_t kMostTokens = 4096;
/// Of a prompt at a time: products take 72 rows a block.
constexpr int64_t kTokensOfAPart = 4 * kMaxGpuWideRows;
/// Query-key pairs per sequence: with more, sequences run one after the other.
constexpr int64_t kMostPairs = 1 << 16;

/// Identifies the weights' addresses, active adapters with their ranks, and kind of products, fixed
/// in a graph.
size_t places_of_weights(const TransformerParts& model) {
  size_t places = 0;
  const auto add = [&](const void* place) {
    places = places * 31 + std::hash<const void*>()(place);
  };
  const auto add_linear = [&](const Linear& linear) {
    add(data_of(linear.weight));
    add(linear.quantized.get());
    add(data_of(linear.bias));
    if (!linear.has_adapter()) return;
    add(data_of(linear.lora_A));
    add(data_of(linear.lora_B));
    places = places * 31 + static_cast<size_t>(linear.lora_A.size(0));
    places = places * 31 + std::hash<double>()(linear.lora_scaling);
  };
  add_linear(model.head);
  for (const at::Tensor* tensor :
       {&model.embedding, &model.final_norm, &model.inverse_frequencies}) {
    add(data_of(*tensor));
  }
  for (const DecoderLayer& layer : model.layers) {
    for (const Linear* linear : layer.attention->linears()) add_linear(*linear);
    for (const Linear* linear : layer.feed_forward->linears()) add_linear(*linear);
    for (const NormPair* norms : {&layer.attention_norm, &layer.mlp_norm}) {
      add(data_of(norms->before));
      add(data_of(norms->after));
    }
    for (const at::Tensor* norm : layer.attention->norms()) add(data_of(*norm));
  }
  return places;
}

bool has_tree(std::span<const SequenceStep> steps) {
  return std::ranges::any_of(steps, [](const auto& step) { return step.tree_TT.defined(); });
}

/// The most tokens of one sequence that may share keys in a block.
int64_t widest_tile(const ModelConfig& config) {
  return std::min(kMostOfATile, kMaxGpuRows * config.num_kv_heads / config.num_heads);
}

/// 0 if nothing is to be read ahead, as PREDGEN_READ_AHEAD=0 asks, to measure what it is worth.
int64_t l2_bytes_of(const GpuKernels& kernels, at::Device device) {
  const char* given = std::getenv("PREDGEN_READ_AHEAD");
  return given && std::string_view(given) == "0" ? 0 : kernels.support(device.index()).l2_bytes;
}

/// Memory for so many tokens and logits.
PassMemory make_memory(const TransformerParts& model, int64_t num_tokens, size_t num_steps,
                       int64_t num_logits, int64_t l2_bytes) {
  PassMemory memory{.max_tokens = static_cast<size_t>(num_tokens),
                    .inputs = {},
                    .logits = {},
                    .counters = {},
                    .l2_bytes = l2_bytes};
  const size_t num_caches = num_steps * static_cast<size_t>(model.config.num_layers());
  const auto bytes = static_cast<int64_t>(memory.caches_begin() + num_caches * sizeof(GpuCache));
  memory.inputs = at::empty({bytes}, model.embedding.options().dtype(at::kByte));
  const ModelConfig& config = model.config;
  memory.logits =
      at::empty({num_logits, config.vocab_size}, model.embedding.options().dtype(at::kFloat));
  const int64_t most_outputs =
      std::max({config.vocab_size, 2 * config.intermediate_size, config.hidden_size,
                (config.num_heads + 2 * config.num_kv_heads) * config.head_dim});
  memory.counters =
      at::zeros({std::max(num_gpu_counters(most_outputs), num_tokens * config.num_kv_heads)},
                model.embedding.options().dtype(at::kInt));
  return memory;
}

/// CUDA graphs; null if this build has none.
GraphCapture cuda_graphs(at::Device device) {
  const std::shared_ptr memory = make_graph_memory(device, StreamPriority::kHigh);
  if (!memory) return nullptr;
  return [memory](const PassWork& work) -> PassWork {
    const std::shared_ptr graph = memory->capture(work);
    return [memory, graph] { return graph->replay(); };
  };
}

}  // namespace

std::string GpuPass::refusal(const ModelConfig& config) {
  const auto lacks = [](std::string_view what) {
    return fmt::format("our kernels for GPUs have no {}", what);
  };
  const std::string_view beyond = beyond_gpu_kernels(config);
  if (!beyond.empty()) return lacks(beyond);
  for (const LayerSpec& layer : config.layers) {
    if (layer.experts.count > 0) return lacks("experts");
    if (layer.attention.sinks) return lacks("attention_sinks");
    if (layer.feed_forward.width > 0) return lacks("mlp_width");
  }
  if (config.logit_softcap != 0) return lacks("logit_softcap");
  if (config.ropes.front().query_beta != 0) return lacks("query_scale by position");
  if (config.num_ropes() > 2) return lacks("third kind of rotary positions");
  const int64_t shared = config.num_heads / config.num_kv_heads, D = config.head_dim;
  if (D > kMaxGpuHeadDim || D % 8 != 0) {
    return fmt::format("our kernels for GPUs take heads of 8, 16, .. {} values, not of {}",
                       kMaxGpuHeadDim, D);
  }
  if (config.hidden_size > kMaxGpuWidth) {
    return fmt::format("our kernels for GPUs take up to {} hidden values, not {}", kMaxGpuWidth,
                       config.hidden_size);
  }
  if (shared <= kMaxGpuRows) return "";
  return fmt::format("our kernels for GPUs take {} heads that share a key head, not {}",
                     kMaxGpuRows, shared);
}

bool GpuPass::takes(const TransformerParts& model) {
  const at::Tensor& embedding = model.embedding;
  const at::ScalarType scalar = embedding.scalar_type();
  if (at::autocast::is_autocast_enabled(embedding.device().type())) return false;
  if (model.layers.empty() || model.layers.front().attention->q.training) return false;
  if (scalar != at::kFloat && scalar != at::kBFloat16) return false;
  return embedding.is_contiguous() && is_ready(model.final_norm, embedding) &&
         std::ranges::all_of(model.layers, [&](const DecoderLayer& layer) {
           return are_norms_ready(layer, embedding);
         });
}

PassKind GpuPass::kind_of(const TransformerParts& model,
                          std::span<const SequenceStep> steps) const {
  PassKind kind;
  kind.num_tokens = *std::ranges::lower_bound(kWidths, tokens_.size());
  const int64_t num_wanted = std::ssize(tokens_.wanted());
  kind.num_logits = num_wanted <= 1 ? num_wanted : kind.num_tokens;
  const bool is_apart = steps.size() > 1 || has_tree(steps);
  kind.tile = is_apart ? 1 : std::min(widest_tile(model.config), kind.num_tokens);
  kind.weights = places_of_weights(model);
  return kind;
}

PassKind GpuPass::exact_kind_of(const TransformerParts& model,
                                std::span<const SequenceStep> steps) const {
  PassKind kind{.num_tokens = tokens_.size(),
                .num_logits = std::ssize(tokens_.wanted()),
                .tile = widest_tile(model.config)};
  for (const SequenceStep& step : steps) {
    const int64_t T = std::ssize(step.tokens);
    kind.num_tiles += (T - 1) / kind.tile + 1;
    kind.num_keys = std::max(kind.num_keys, step.state->length() + T);
  }
  return kind;
}

int64_t GpuPass::l2_bytes(const TransformerParts& model) {
  if (!l2_bytes_) l2_bytes_ = l2_bytes_of(kernels_, model.embedding.device());
  return *l2_bytes_;
}

const PassMemory& GpuPass::memory(const TransformerParts& model) {
  if (!memory_.inputs.defined()) {
    const c10::InferenceMode off(false);  // inference tensors could not be written outside it
    memory_ = make_memory(model, kMaxGpuTokens, kMaxGpuTokens, kMaxGpuTokens, l2_bytes(model));
  }
  return memory_;
}

void GpuPass::upload(const TransformerParts& model, std::span<const SequenceStep> steps,
                     const PassKind& kind, const PassMemory& memory) const {
  const auto used = static_cast<int64_t>(
      memory.caches_begin() +
      steps.size() * static_cast<size_t>(model.config.num_layers()) * sizeof(GpuCache));
  // For this pass only: pinned memory is reused once the device has read it.
  const bool is_cuda = memory.inputs.is_cuda();
  const at::Tensor host = at::empty({used}, at::TensorOptions(at::kByte).pinned_memory(is_cuda));
  char* const begin = static_cast<char*>(host.mutable_data_ptr());
  auto* tokens = reinterpret_cast<GpuToken*>(begin);
  std::fill_n(tokens, kind.num_tokens,
              GpuToken{.id = 0,
                       .step = -1,
                       .place = 0,
                       .position = 0,
                       .has_adapter = 0,
                       .num_consecutive = 0,
                       .others = {0, 0}});
  for (const PassToken& token : tokens_.tokens()) {
    GpuToken& to = *tokens++;
    to.id = static_cast<int32_t>(token.id);
    to.step = static_cast<int32_t>(token.step);
    to.place = static_cast<int32_t>(token.place);
    to.position = static_cast<int32_t>(token.position);
    to.has_adapter = !model.adapter_gated || token.is_mask ? 1 : 0;
    to.num_consecutive = static_cast<int32_t>(token.num_consecutive);
    for (const int32_t place : tokens_.others(token)) {
      const int64_t bit = place - token.num_consecutive;
      to.others[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
  auto* rows = reinterpret_cast<int32_t*>(begin + memory.rows_begin());
  std::fill_n(rows, kind.num_logits, 0);
  std::ranges::transform(tokens_.wanted(), rows,
                         [](int64_t row) { return static_cast<int32_t>(row); });
  if (kind.num_tiles > 0) {
    auto* tiles = reinterpret_cast<int32_t*>(begin + memory.tiles_begin());
    int64_t first = 0;
    for (const SequenceStep& step : steps) {
      const int64_t T = std::ssize(step.tokens);
      for (int64_t i = 0; i < T; i += kind.tile) *tiles++ = static_cast<int32_t>(first + i);
      first += T;
    }
  }
  auto* caches = reinterpret_cast<GpuCache*>(begin + memory.caches_begin());
  for (const SequenceStep& step : steps) {
    for (int64_t layer = 0; layer < model.config.num_layers(); ++layer) {
      const auto [keys, values] =
          step.state->writable(layer, static_cast<int64_t>(step.tokens.size()));
      *caches++ = {keys.mutable_data_ptr(), values.mutable_data_ptr(), keys.size(2)};
    }
  }
  use_on_current_stream({memory.inputs, memory.logits, memory.counters});
  memory.inputs.narrow(0, 0, used).copy_(host, /*non_blocking=*/true);
}

PassGraphs* GpuPass::graphs(const TransformerParts& model) {
  if (!graphs_) {
    if (!capture_) capture_ = cuda_graphs(model.embedding.device());
    if (capture_) graphs_.emplace(capture_);
  }
  return graphs_ ? &*graphs_ : nullptr;
}

std::optional<at::Tensor> GpuPass::run(const TransformerParts& model,
                                       std::span<const SequenceStep> steps) {
  const PassGuard running(is_running_);
  if (!takes(model)) return {};
  const c10::DeviceGuard guard(model.embedding.device());
  int64_t num_tokens = 0, num_pairs = 0;
  for (const SequenceStep& step : steps) {
    const int64_t T = std::ssize(step.tokens);
    num_tokens += T;
    num_pairs += T * (step.state->length() + T);
  }
  if (num_tokens <= kMaxGpuTokens) return run_few(model, steps);
  if (has_tree(steps)) return {};
  if (steps.size() > 1 && num_tokens <= kMostTokens &&
      num_pairs <= kMostPairs * std::ssize(steps)) {
    if (std::optional<at::Tensor> logits_NV = run_if_there_is_memory(model, steps)) {
      return logits_NV;
    }
  }
  return run_in_parts(model, steps);
}

at::Tensor GpuPass::run_few(const TransformerParts& model, std::span<const SequenceStep> steps) {
  tokens_.read(steps, model.config.vocab_size);
  const PassMemory& memory = this->memory(model);
  const PassKind kind = kind_of(model, steps);
  upload(model, steps, kind, memory);
  const PassWork launch = [this, model, kind] {
    return launch_pass(kernels_, model, kind, memory_);
  };
  PassGraphs* const graphs = this->graphs(model);
  return (graphs ? graphs->run(kind, launch) : launch())
      .narrow(0, 0, std::ssize(tokens_.wanted()))
      .clone();
}

at::Tensor GpuPass::run_many(const TransformerParts& model, std::span<const SequenceStep> steps) {
  tokens_.read(steps, model.config.vocab_size);
  const PassKind kind = exact_kind_of(model, steps);
  const PassMemory memory =
      make_memory(model, kind.num_tokens, steps.size(), kind.num_logits, l2_bytes(model));
  upload(model, steps, kind, memory);
  return launch_pass(kernels_, model, kind, memory);
}

std::optional<at::Tensor> GpuPass::run_if_there_is_memory(const TransformerParts& model,
                                                          std::span<const SequenceStep> steps) {
  try {
    return run_many(model, steps);
  } catch (const c10::OutOfMemoryError&) {
    spdlog::warn("no memory for a pass over {} tokens at once: it runs in parts", tokens_.size());
    return {};
  }
}

at::Tensor GpuPass::run_in_parts(const TransformerParts& model,
                                 std::span<const SequenceStep> steps) {
  std::vector<at::Tensor> logits;
  for (const SequenceStep& step : steps) {
    const int64_t past = step.state->length(), T = static_cast<int64_t>(step.tokens.size());
    const auto run_part = [&](int64_t begin, int64_t count) {
      const int64_t wanted = std::clamp<int64_t>(begin + count - (T - step.num_logits), 0, count);
      const SequenceStep part{
          .state = step.state,
          .tokens = step.tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
          .num_logits = wanted};
      std::optional<at::Tensor> found;
      if (count <= kMaxGpuTokens) {
        found = run_few(model, std::span(&part, 1));
      } else {
        found = run_if_there_is_memory(model, std::span(&part, 1));
      }
      if (!found) return false;
      logits.push_back(*found);
      step.state->commit(count);
      return true;
    };
    try {
      int64_t most = kTokensOfAPart;
      for (int64_t begin = 0; begin < T;) {
        const int64_t count = std::min(most, T - begin);
        if (run_part(begin, count)) {
          begin += count;
        } else {
          most = kMaxGpuTokens;
        }
      }
    } catch (...) {
      step.state->return_to(past);
      throw;
    }
    step.state->return_to(past);
    step.state->reserve(T);  // which moves nothing
  }
  return at::cat(logits);
}

void GpuPass::prepare(const TransformerParts& model) {
  const PassGuard running(is_running_);
  if (!takes(model)) return;
  const c10::DeviceGuard guard(model.embedding.device());
  PassGraphs* const graphs = this->graphs(model);
  if (!graphs) return;
  tokens_.read({}, model.config.vocab_size);  // launches over padding only
  const size_t weights = places_of_weights(model);
  const auto prepare = [&](int64_t num_tokens, int64_t num_logits, int64_t tile) {
    const PassKind kind{.num_tokens = num_tokens,
                        .num_logits = num_logits,
                        .tile = std::min(tile, num_tokens),
                        .weights = weights};
    upload(model, {}, kind, memory(model));
    return graphs->prepare(
        kind, [this, model, kind] { return launch_pass(kernels_, model, kind, memory_); });
  };
  const int64_t tile = widest_tile(model.config);
  if (!prepare(kMaxGpuTokens, 0, tile)) return;  // a part of a prompt
  for (auto width = std::rbegin(kWidths); width != std::rend(kWidths); ++width) {
    const int64_t num_tokens = *width;
    if (num_tokens > kWidestPrepared) continue;
    const bool has_room = prepare(num_tokens, 1, tile) && prepare(num_tokens, num_tokens, tile) &&
                          // of trees and of several sequences
                          prepare(num_tokens, num_tokens, 1);
    if (!has_room) return;  // nor for the next one
  }
}

}  // namespace predgen
