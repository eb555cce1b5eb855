#include "train/plan/memory_plan.h"

#include <algorithm>

#include "core/error.h"
#include "model/weights/adapter_config.h"
#include "train/base/weight_codec.h"
#include "train/objectives/chunked_loss.h"

namespace predgen {
namespace {

constexpr int64_t kFloat = 4, kHalf = 2;
// Beside tensors, on a CPU: code of LibTorch that is first used then, buffers of products,
// datasets.
constexpr int64_t kProcessBytes = int64_t{50} << 20;
// What a step takes beside its tensors on a CPU, as freed memory of one size does not always serve
// for another: more where graphs are made again (measured).
constexpr double kLostShare = 0.15, kLostShareRecomputed = 0.3;
// A context of CUDA with its kernels and cuBLAS's workspace.
constexpr int64_t kContextBytes = int64_t{600} << 20;

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

bool teaches_distributions(const TrainConfig& train) {
  const ConsistencyOptions& options = train.objective.consistency;
  return train.objective.kind != ObjectiveKind::kAutoregressive &&
         (options.consistency_weight > 0 || options.ar_target == ArTarget::kBase);
}

}  // namespace

/// Counts of values, and the bytes of one.
struct MemoryPlan::Sizes {
  Sizes(const ModelConfig& model_config, const TrainConfig& train_config, const PlanCase& given);

  bool is_full() const { return train.mode == TrainMode::kFull; }
  int64_t num_recomputed() const {
    return std::clamp<int64_t>(train.num_recomputed, 0, model.num_layers);
  }
  int64_t tokens() const { return train.batch_size * plan_case.row_tokens; }
  /// Bytes a token that autograd saves of a layer.
  int64_t saved_of_layer() const;

  const ModelConfig& model;
  const TrainConfig& train;
  const PlanCase& plan_case;
  bool narrow;                      // autocast to bfloat16
  int64_t weight_size, value_size;  // bytes of a frozen weight, of an activation
  int64_t E, I, Q, K, V;            // widths: hidden, MLP, queries, keys, vocabulary
  int64_t layer_values = 0;         // of a layer's linears
  int64_t largest_linear = 0;
  int64_t outside_values = 0;  // embeddings, a head, norms and biases
  int64_t pieces = 1;          // that a layer is cut into
  // Of a layer's adapters: values of the reduced inputs, widths of all inputs, and of those that
  // are not also inputs of a linear before: of q, k, v; o; gate, up; down.
  int64_t ranks = 0, inputs = 0, shared_inputs = 0;
  int64_t trained = 0;
};

MemoryPlan::Sizes::Sizes(const ModelConfig& model_config, const TrainConfig& train_config,
                         const PlanCase& given)
    : model(model_config),
      train(train_config),
      plan_case(given),
      narrow(train.compute == Compute::kBFloat16 && given.bfloat16_products),
      weight_size(train.mode == TrainMode::kLora && train.compute == Compute::kBFloat16 ? kHalf
                                                                                        : kFloat),
      value_size(narrow && train.mode == TrainMode::kLora ? kHalf : kFloat),
      E(model.hidden_size),
      I(model.intermediate_size),
      Q(model.num_heads * model.head_dim),
      K(model.num_kv_heads * model.head_dim),
      V(model.vocab_size),
      pieces(train.base.shard ? given.world_size : 1) {
  const AdapterConfig adapter(train.lora);
  const std::string first_layer = "model.layers.0.";
  bool seen[4] = {};
  for (const WeightSpec& weight : weight_layout(model)) {
    const int64_t count = count_of(weight.shape);
    const bool is_linear = weight.shape.size() == 2 && weight.name.starts_with("model.layers.");
    if (is_full()) trained += count;
    if (!is_linear) {
      outside_values += count;
      continue;
    }
    const bool is_first = weight.name.starts_with(first_layer);
    if (is_first) layer_values += count;
    largest_linear = std::max(largest_linear, count);
    const std::string module = weight.name.substr(0, weight.name.rfind('.'));
    if (is_full() || !adapter.matches(module)) continue;
    const int64_t rank = adapter.rank(module);
    trained += rank * (weight.shape[0] + weight.shape[1]);
    if (!is_first) continue;
    ranks += rank;
    inputs += weight.shape[1];
    const std::string part = module.substr(first_layer.size());
    const size_t input = part.ends_with("o_proj")      ? 1
                         : part.starts_with("self_")   ? 0
                         : part.ends_with("down_proj") ? 3
                                                       : 2;
    if (!std::exchange(seen[input], true)) shared_inputs += weight.shape[1];
  }
}

int64_t MemoryPlan::Sizes::saved_of_layer() const {
  // Norms save their input in float32 and a scale; attention its queries, keys, values, result
  // and a number a head; SwiGLU the gate before and after silu and the other factor.
  int64_t bytes = 2 * kFloat * (E + 1) + kFloat * model.num_heads;
  const int64_t product_size = narrow ? kHalf : kFloat;
  bytes += product_size * (2 * Q + 2 * K + 3 * I);
  if (model.qk_norm != QkNorm::kNone) bytes += kFloat * (Q + K);
  if (is_full()) {
    // What a norm multiplies by its weight, then inputs of products: autocast makes one for each.
    bytes += kFloat * 2 * E;
    return bytes + (narrow ? kHalf * (5 * E + Q + I) : kFloat * (2 * E + Q + I));
  }
  bytes += product_size * ranks;
  if (train.lora.dropout == 0) return bytes + product_size * shared_inputs;
  // Each adapter has an input of its own, and what it was multiplied by.
  return bytes + inputs * (product_size + (plan_case.is_cuda ? 1 : product_size));
}

MemoryPlan::MemoryPlan(const ModelConfig& model, const TrainConfig& train,
                       const PlanCase& plan_case) {
  PREDGEN_CHECK(plan_case.row_tokens > 0, "rows without tokens");
  const Sizes sizes(model, train, plan_case);
  is_cuda_ = plan_case.is_cuda;
  lost_share_ = sizes.num_recomputed() > 0 ? kLostShareRecomputed : kLostShare;
  trained_values_ = sizes.trained;
  final_is_bfloat16_ = sizes.is_full() && train.save_dtype == "bf16";
  add_weights(sizes);
  add_step(sizes);
}

void MemoryPlan::add_weights(const Sizes& sizes) {
  const TrainConfig& train = sizes.train;
  const bool is_cuda = sizes.plan_case.is_cuda;
  const int64_t num_layers = sizes.model.num_layers;
  held_.push_back({is_cuda ? "CUDA's context" : "the process without a model",
                   is_cuda ? kContextBytes : sizes.plan_case.process_bytes + kProcessBytes});
  const char* trained = sizes.is_full() ? "weights" : "adapter";
  loading_ = {"loading", 0};
  if (!sizes.is_full()) {
    held_.push_back({"embeddings, head, norms", sizes.weight_size * sizes.outside_values});
    const int64_t own = divide_up(sizes.layer_values, sizes.pieces);
    const int64_t kept = num_layers * encoded_bytes(train.base.weights, own, sizes.weight_size);
    if (is_cuda && train.base.offload) {
      host_ = kept;
    } else {
      held_.push_back({"frozen layers", kept});
    }
    if (!train.base.is_resident()) {
      const int64_t stored = sizes.model.dtype == "float32" ? kFloat : kHalf;
      loading_ = {"loading: encoding a layer", own * encoding_bytes(train.base.weights, stored)};
      if (!is_cuda) {
        // Norms that are used where they lie keep the files mapped.
        held_.push_back({"pages of the model's files", num_layers * own * stored});
      }
    }
    if (sizes.narrow) held_.push_back({"adapter in bfloat16", kHalf * sizes.trained});
  } else if (sizes.narrow) {
    held_.push_back({"weights in bfloat16", kHalf * sizes.trained});
  }
  held_.push_back({trained, kFloat * sizes.trained});
  held_.push_back({"their gradients", kFloat * sizes.trained});
  held_.push_back({"two moments of each", 2 * kFloat * sizes.trained});
}

void MemoryPlan::add_step(const Sizes& sizes) {
  const TrainConfig& train = sizes.train;
  const PlanCase& at = sizes.plan_case;
  const int64_t tokens = sizes.tokens(), taught = train.batch_size * at.taught_tokens;
  const int64_t num_recomputed = sizes.num_recomputed();
  const bool fetches = !sizes.is_full() && !train.base.is_resident();
  const bool distributions = teaches_distributions(train);

  // Layers that are fetched take all micro-batches of a rank in turn.
  const int64_t together = fetches ? divide_up(train.num_micro_batches(), at.world_size) : 1;
  const int64_t input = sizes.value_size * sizes.E * tokens;
  const int64_t folded = at.is_cuda ? sizes.model.num_heads / sizes.model.num_kv_heads : 1;
  int64_t masks = 0;
  const auto add_mask = [&](bool slides) {
    if (at.has_segments || slides) {
      masks += tokens * at.row_tokens * (folded * sizes.value_size + (at.has_segments ? 1 : 0));
    }
  };
  const auto slides = [&](int64_t window) { return window > 0 && window < at.row_tokens; };
  add_mask(false);
  if (std::ranges::any_of(sizes.model.windows, slides)) add_mask(true);
  const int64_t rotation = 2 * sizes.value_size * sizes.model.head_dim * tokens;
  kept_ = together * ((num_recomputed + 1) * input + masks + rotation) +
          (sizes.model.num_layers - num_recomputed) * sizes.saved_of_layer() * tokens;
  if (train.objective.consistency.ar_target == ArTarget::kBase) kept_ += together * 2 * input;

  // A weight that is kept in another type is converted for each product.
  const bool converts = !sizes.is_full() && sizes.weight_size != sizes.value_size;
  const int64_t weight_copy = converts ? kFloat * sizes.largest_linear : 0;
  int64_t layer_weights = 0;
  if (fetches) {
    const int64_t own = divide_up(sizes.layer_values, sizes.pieces);
    const int64_t encoded =
        sizes.pieces * encoded_bytes(train.base.weights, own, sizes.weight_size);
    const bool moves = train.base.shard || (train.base.offload && at.is_cuda);
    const bool is_copy = train.base.weights != BaseWeights::kFull || moves;
    const int64_t size =
        train.base.weights == BaseWeights::kFull ? sizes.weight_size : sizes.value_size;
    const int64_t next = moves && at.is_cuda ? encoded : 0;
    layer_weights = (is_copy ? size * sizes.layer_values : 0) + next;
    step_moments_.push_back(
        {"fetching a layer",
         next + (moves ? encoded : 0) +
             decoding_bytes(train.base.weights, sizes.layer_values, sizes.value_size)});
  }

  // Gradients of the MLP's width meet in the backward pass of a layer: the last one that kept its
  // graph, or one whose graph is made again when the graphs of later layers are gone.
  const int64_t gradients = sizes.value_size * tokens * (2 * sizes.I + 2 * sizes.E);
  const int64_t graph = sizes.saved_of_layer() * tokens;
  const int64_t own_input = sizes.narrow ? 0 : input;  // which is among the kept ones
  const int64_t kept_graphs = (sizes.model.num_layers - num_recomputed) * graph;
  const int64_t again = num_recomputed > 0 ? graph - own_input - kept_graphs : 0;
  const int64_t weight_gradient =
      sizes.is_full() ? (sizes.narrow ? kFloat + kHalf : kFloat) * sizes.largest_linear : 0;
  step_moments_.push_back({"a layer's backward pass",
                           layer_weights + gradients + std::max(weight_copy, weight_gradient) +
                               (kept_graphs > 0 ? std::max<int64_t>(again, 0) : again)});

  // Logits of a chunk, in float32, with their exponentials; those of a teacher with their product.
  const int64_t row = kFloat * sizes.V;
  const int64_t chunk = row * std::min(taught, chunk_positions(sizes.V));
  const int64_t head = sizes.V * sizes.E;
  const int64_t head_copy = converts ? kFloat * head : 0;
  const int64_t head_gradient = sizes.is_full() ? kFloat * head : 0;
  const int64_t half_chunk = sizes.narrow ? chunk / 2 : 0;
  const int64_t logits =
      distributions ? std::max(5 * chunk, 2 * chunk + half_chunk + head_copy) : 2 * chunk;
  const int64_t states = tokens * sizes.E * (2 * kFloat + 2 * sizes.value_size) +
                         taught * sizes.E * (kFloat + (distributions ? 2 : 1) * sizes.value_size);
  step_moments_.push_back(
      {"the loss of a chunk",
       states + std::max(logits, chunk + half_chunk + std::max(head_copy, head_gradient))});
}

int64_t MemoryPlan::step_bytes() const {
  int64_t moment = 0;
  for (const Term& term : step_moments_) moment = std::max(moment, term.bytes);
  return kept_ + moment;
}

int64_t MemoryPlan::lost_bytes() const {
  if (is_cuda_) return 0;
  const auto lost = static_cast<int64_t>(lost_share_ * static_cast<double>(step_bytes()));
  return std::max<int64_t>(0, lost - loading_.bytes);  // which the process has kept
}

int64_t MemoryPlan::peak_bytes() const {
  int64_t held = 0;
  for (const Term& term : held_) held += term.bytes;
  return held + std::max(loading_.bytes, step_bytes() + lost_bytes());
}

int64_t MemoryPlan::final_bytes() const {
  return trained_values_ * (final_is_bfloat16_ ? kHalf : kFloat);
}

std::vector<MemoryKnob> memory_knobs(const ModelConfig& model, const TrainConfig& train,
                                     const PlanCase& plan_case, int64_t limit) {
  std::vector<MemoryKnob> knobs;
  TrainConfig changed = train;
  PlanCase changed_case = plan_case;
  const auto peak = [&] { return MemoryPlan(model, changed, changed_case).peak_bytes(); };
  const auto turn = [&](bool possible, std::string setting, const auto& change) {
    if (!possible || (!knobs.empty() && knobs.back().peak_bytes <= limit)) return;
    const TrainConfig config_before = changed;
    const PlanCase case_before = changed_case;
    const int64_t bytes_before = peak();
    change();
    const int64_t bytes = peak();
    if (bytes < bytes_before) {
      knobs.push_back({std::move(setting), bytes});
    } else {
      changed = config_before;
      changed_case = case_before;
    }
  };
  turn(changed.num_recomputed < model.num_layers, "recompute: all",
       [&] { changed.num_recomputed = kAllLayers; });
  for (int64_t size = changed.batch_size;
       size > 1 && (knobs.empty() || knobs.back().peak_bytes > limit);) {
    int64_t smaller = size / 2;
    while (train.global_batch % smaller != 0) --smaller;
    turn(true, fmt::format("batch_size: {}", smaller), [&] {
      changed.global_batch = changed.num_micro_batches() * changed.batch_size;
      changed.batch_size = smaller;
    });
    size = smaller;
  }
  const bool is_lora = train.mode == TrainMode::kLora;
  turn(is_lora && changed.compute == Compute::kFloat32, "compute: bf16",
       [&] { changed.compute = Compute::kBFloat16; });
  turn(is_lora && changed.base.weights != BaseWeights::kNf4, "base.weights: nf4",
       [&] { changed.base.weights = BaseWeights::kNf4; });
  // Ranks of one machine share its memory on a CPU, so there sharding has to be asked for.
  const int ranks = plan_case.world_size > 1 ? plan_case.world_size : 4;
  turn(is_lora && !changed.base.shard && plan_case.is_cuda,
       fmt::format("base.shard: true with {} ranks", ranks), [&] {
         changed.base.shard = true;
         changed_case.world_size = ranks;
       });
  turn(is_lora && !changed.base.offload && plan_case.is_cuda, "base.offload: true",
       [&] { changed.base.offload = true; });
  return knobs;
}

std::string memory_advice(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t limit) {
  std::string text =
      fmt::format("the plan says {}", to_gib(MemoryPlan(model, train, plan_case).peak_bytes()));
  const std::vector<MemoryKnob> knobs = memory_knobs(model, train, plan_case, limit);
  for (const MemoryKnob& knob : knobs) {
    text += fmt::format("{} `{}` takes {}", &knob == &knobs.front() ? ";" : ", then", knob.setting,
                        to_gib(knob.peak_bytes));
  }
  const bool enough = !knobs.empty() && knobs.back().peak_bytes <= limit;
  return text + (enough ? "" : "; shorter records take less (filters.max_tokens of the data)");
}

int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit) {
  if (!train.base.is_resident()) return model.num_layers;
  TrainConfig tried = train;
  for (int64_t count = 0; count < model.num_layers; ++count) {
    tried.num_recomputed = count;
    if (MemoryPlan(model, tried, plan_case).peak_bytes() <= limit) return count;
  }
  return model.num_layers;
}

int64_t usable(int64_t memory_bytes) { return memory_bytes / 20 * 19; }

std::string to_gib(int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(1 << 30));
}

}  // namespace predgen
