#include "train/plan/memory_plan.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "model/attention_masks.h"
#include "train/base/weight_codec.h"
#include "train/objectives/chunked_loss.h"
#include "train/plan/plan_sizes.h"

namespace predgen::train {
namespace {

// Besides tensors, on a CPU: LibTorch code first used then, buffers of products,
// datasets.
constexpr int64_t kProcessBytes = int64_t{50} << 20;
// What a step takes besides its tensors on a CPU, due to fragmentation: more if graphs are
// recomputed (measured).
constexpr double kLostShare = 0.15, kLostShareRecomputed = 0.3;
// On CUDA it is less: its allocator joins and splits blocks.
constexpr double kLostShareOnCuda = 0.08;

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// Tokens of a row whose distributions are compared with those of a teacher.
int64_t compared_tokens(const TrainConfig& train, const PlanCase& plan_case) {
  const ConsistencyOptions& options = train.objective.consistency;
  if (train.objective.kind == ObjectiveKind::kAutoregressive) return 0;
  if (train.objective.kind == ObjectiveKind::kMtp) return plan_case.noisy_tokens;
  if (options.ar_target == ArTarget::kBase) return plan_case.row_tokens;
  return options.consistency_weight > 0 ? plan_case.noisy_tokens : 0;
}

}  // namespace

MemoryPlan::MemoryPlan(const ModelConfig& model, const TrainConfig& train,
                       const PlanCase& plan_case) {
  PREDGEN_CHECK(plan_case.row_tokens > 0, "rows without tokens");
  const PlanSizes sizes(model, train, plan_case);
  is_cuda_ = plan_case.is_cuda;
  lost_share_ = is_cuda_                     ? kLostShareOnCuda
                : sizes.num_recomputed() > 0 ? kLostShareRecomputed
                                             : kLostShare;
  trained_values_ = sizes.trained;
  final_is_bfloat16_ = train.save_dtype == "bf16";
  add_weights(sizes);
  add_step(sizes);
}

void MemoryPlan::add_weights(const PlanSizes& sizes) {
  const TrainConfig& train = sizes.train;
  const bool is_cuda = sizes.plan_case.is_cuda;
  held_.push_back({is_cuda ? "CUDA's context" : "the process without a model",
                   is_cuda ? kContextBytes : sizes.plan_case.process_bytes + kProcessBytes});
  const char* trained = sizes.is_full() ? "weights" : "adapter";
  loading_ = {"loading", 0};
  if (!sizes.is_full()) {
    held_.push_back({"embeddings, head, norms", sizes.weight_size * sizes.outside_values});
    int64_t kept = 0, own_values = 0;
    for (const LayerSizes& layer : sizes.layers) {
      const int64_t own = divide_up(layer.values, sizes.pieces);
      kept += encoded_bytes(train.base.weights, own, sizes.weight_size);
      own_values += own;
    }
    if (is_cuda && train.base.offload) {
      host_ = kept;
    } else {
      held_.push_back({"frozen layers", kept});
    }
    if (!train.base.is_resident()) {
      const int64_t stored = sizes.model.dtype == "float32" ? kFloat : kHalf;
      // On a CPU, mapped pages of the files count, too.
      const int64_t pages = is_cuda ? 0 : own_values * stored;
      const int64_t largest = divide_up(sizes.most_values, sizes.pieces);
      loading_ = {"loading: encoding a layer",
                  largest * encoding_bytes(train.base.weights, stored) + pages};
    }
    if (sizes.narrow) held_.push_back({"adapter in bfloat16", kHalf * sizes.trained});
  } else if (sizes.narrow) {
    held_.push_back({"weights in bfloat16", kHalf * sizes.trained});
  }
  held_.push_back({trained, kFloat * sizes.trained});
  held_.push_back({"their gradients", kFloat * sizes.trained});
  held_.push_back({"two moments of each", 2 * kFloat * sizes.trained});
}

void MemoryPlan::add_step(const PlanSizes& sizes) {
  const TrainConfig& train = sizes.train;
  const PlanCase& at = sizes.plan_case;
  const int64_t tokens = sizes.tokens(), taught = train.batch_size * at.taught_tokens;
  const int64_t num_recomputed = sizes.num_recomputed();
  const bool fetches = !sizes.is_full() && !train.base.is_resident();
  const int64_t compared = train.batch_size * compared_tokens(train, at);

  // Fetched layers process all micro-batches of a rank in turn.
  const int64_t together = fetches ? divide_up(train.num_micro_batches(), at.world_size) : 1;
  const int64_t input = sizes.value_size * sizes.E * tokens;
  const int64_t folded = at.is_cuda ? sizes.model.num_heads / sizes.model.num_kv_heads : 1;
  int64_t masks = 0;
  const auto add_mask = [&](bool slides) {
    if (at.has_segments || slides) {
      masks += tokens * (mask_row_stride(at.row_tokens) * folded * sizes.value_size +
                         (at.has_segments ? at.row_tokens : 0));
    }
  };
  const auto slides = [&](const LayerSpec& layer) {
    return layer.attention.window > 0 && layer.attention.window < at.row_tokens;
  };
  add_mask(false);
  if (std::ranges::any_of(sizes.model.layers, slides)) add_mask(true);
  int64_t turned = 0;  // values of a head, for all kinds of rotation
  for (const RopeConfig& rope : sizes.model.ropes) turned += sizes.model.head_dim_of(rope);
  const int64_t rotations = 2 * sizes.value_size * turned * tokens;
  const int64_t layer_inputs = sizes.saved_of_layer_inputs() * tokens;
  kept_ = together * ((num_recomputed + 1) * input + masks + rotations) + layer_inputs +
          sizes.saved_from(num_recomputed) * tokens;
  if (train.objective.consistency.ar_target == ArTarget::kBase) kept_ += together * 2 * input;

  // A weight kept in another type is converted for each product.
  const bool converts = !sizes.is_full() && sizes.weight_size != sizes.value_size;
  const int64_t weight_copy = converts ? kFloat * sizes.largest_linear : 0;
  int64_t layer_weights = 0;
  if (fetches) {
    const int64_t own = divide_up(sizes.most_values, sizes.pieces);
    const int64_t encoded =
        sizes.pieces * encoded_bytes(train.base.weights, own, sizes.weight_size);
    const bool moves = train.base.shard || (train.base.offload && at.is_cuda);
    const bool is_copy = train.base.weights != BaseWeights::kFull || moves;
    const int64_t size =
        train.base.weights == BaseWeights::kFull ? sizes.weight_size : sizes.value_size;
    const int64_t next = moves && at.is_cuda ? encoded : 0;
    layer_weights = (is_copy ? size * sizes.most_values : 0) + next;
    fetch_ = (moves ? encoded : 0) +
             decoding_bytes(train.base.weights, sizes.most_values, sizes.value_size);
    step_moments_.push_back({"fetching a layer", next + fetch_});
  }

  // Gradients of the MLP's width coexist in the backward pass of a layer: the last one that kept
  // its graph, or one whose graph is recomputed after those of later layers are freed.
  const int64_t gradients = sizes.value_size * tokens * (2 * sizes.widest + 2 * sizes.E);
  const int64_t graph = sizes.most_saved() * tokens;
  const int64_t own_input = sizes.narrow ? 0 : input;  // which is among the kept ones
  const int64_t kept_graphs = sizes.saved_from(num_recomputed) * tokens;
  const int64_t again = num_recomputed > 0 ? graph - own_input - kept_graphs : 0;
  const int64_t weight_gradient =
      sizes.is_full() ? (sizes.narrow ? kFloat + kHalf : kFloat) * sizes.largest_linear : 0;
  step_moments_.push_back({"a layer's backward pass",
                           layer_weights + gradients + std::max(weight_copy, weight_gradient) +
                               (kept_graphs > 0 ? std::max<int64_t>(again, 0) : again)});

  // Logits of a chunk, in float32, with their exponentials; those of a teacher with their product.
  const int64_t row = kFloat * sizes.V;
  const int64_t chunk = row * std::min(taught, chunk_positions(sizes.V));
  const int64_t compared_chunk = row * std::min(compared, chunk_positions(sizes.V));
  const int64_t head = sizes.V * sizes.E;
  const int64_t head_copy = converts ? kFloat * head : 0;
  const int64_t head_gradient = sizes.is_full() ? kFloat * head : 0;
  const auto in_bfloat16 = [&](int64_t bytes) { return sizes.narrow ? bytes / 2 : 0; };
  const int64_t of_teacher =
      std::max(5 * compared_chunk, 2 * compared_chunk + in_bfloat16(compared_chunk) + head_copy);
  const int64_t logits = std::max(2 * chunk, compared > 0 ? of_teacher : 0);
  const int64_t states = tokens * sizes.E * (2 * kFloat + 2 * sizes.value_size) +
                         taught * sizes.E * (kFloat + (compared > 0 ? 2 : 1) * sizes.value_size);
  step_moments_.push_back(
      {"the loss of a chunk",
       states + std::max(logits, chunk + in_bfloat16(chunk) + std::max(head_copy, head_gradient))});
}

int64_t MemoryPlan::step_bytes() const {
  int64_t moment = 0;
  for (const Term& term : step_moments_) moment = std::max(moment, term.bytes);
  return kept_ + moment;
}

int64_t MemoryPlan::lost_bytes() const {
  // On a CPU a chunk's logits do not fit where a layer's weights were, so that memory stays
  // unused.
  return static_cast<int64_t>(lost_share_ * static_cast<double>(step_bytes())) +
         (is_cuda_ ? 0 : fetch_);
}

int64_t MemoryPlan::peak_bytes() const {
  int64_t held = 0;
  for (const Term& term : held_) held += term.bytes;
  return held + std::max(loading_.bytes, step_bytes() + lost_bytes());
}

int64_t MemoryPlan::final_bytes() const {
  return trained_values_ * (final_is_bfloat16_ ? kHalf : kFloat);
}

std::string to_gib(int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(1 << 30));
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
  const bool runs_twice = !model.has_side_inputs();  // or fetches layers (check_recomputed())
  turn(runs_twice && changed.num_recomputed < model.num_layers(), "recompute: all",
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
  const bool fetches = is_lora && runs_twice;
  turn(fetches && changed.base.weights != BaseWeights::kNf4, "base.weights: nf4",
       [&] { changed.base.weights = BaseWeights::kNf4; });
  // Ranks of one machine share its memory on a CPU, so sharding must be requested there.
  const int ranks = plan_case.world_size > 1 ? plan_case.world_size : 4;
  turn(fetches && !changed.base.shard && plan_case.is_cuda,
       fmt::format("base.shard: true with {} ranks", ranks), [&] {
         changed.base.shard = true;
         changed_case.world_size = ranks;
       });
  turn(fetches && !changed.base.offload && plan_case.is_cuda, "base.offload: true",
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

int64_t usable(int64_t memory_bytes) { return memory_bytes / 20 * 19; }

void check_recomputed(const ModelConfig& model, const TrainConfig& train) {
  const bool is_none = train.num_recomputed == kAutoLayers || train.num_recomputed == 0;
  if (!model.has_side_inputs() || (is_none && train.base.is_resident())) return;
  throw UserError(
      "recompute: layers of a {} read what others made, and are not run twice: set it to none, "
      "and keep the base in memory (base.weights: full, neither base.shard nor base.offload)",
      model.architecture);
}

int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit) {
  if (model.has_side_inputs()) return 0;
  if (!train.base.is_resident()) return model.num_layers();
  TrainConfig tried = train;
  for (int64_t count = 0; count < model.num_layers(); ++count) {
    tried.num_recomputed = count;
    if (MemoryPlan(model, tried, plan_case).peak_bytes() <= limit) return count;
  }
  return model.num_layers();
}

int64_t choose_recomputed(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t memory, Communicator& communicator) {
  check_recomputed(model, train);
  if (model.has_side_inputs()) return 0;
  if (train.num_recomputed != kAutoLayers)
    return std::min(train.num_recomputed, model.num_layers());
  const int64_t own = layers_to_recompute(model, train, plan_case, usable(memory));
  const at::Tensor all = at::empty({communicator.world_size()}, at::kLong);
  communicator.all_gather(at::tensor({own}, at::kLong), all);
  const auto most = all.max().item<int64_t>();
  if (communicator.is_main()) {
    if (most == 0) {
      spdlog::info("recompute: auto: the run fits into the {} that are free; no layer is run twice",
                   to_gib(memory));
    } else {
      spdlog::info("recompute: auto runs {} of {} layers twice, to fit into the {} that are free",
                   most, model.num_layers(), to_gib(memory));
    }
  }
  return most;
}

}  // namespace predgen::train
