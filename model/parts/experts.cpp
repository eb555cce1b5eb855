#include "model/parts/experts.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/error.h"
#include "model/parts/operators.h"

namespace predgen {
namespace {

// The inputs of linears, as WeightSpec::input numbers them: all experts of a layer see the same.
constexpr int64_t kExpertInput = 2, kOpenedExpertInput = 3;

std::string of_expert(const ModuleName& name, int64_t expert) {
  return fmt::format(fmt::runtime(name.hugging_face), expert);
}

FeedForwardSpec shared_spec(const ExpertsSpec& spec) {
  const ExpertNames& names = spec.names;
  return {.activation = spec.activation,
          .width = spec.shared_width,
          .names = {names.shared_gate, names.shared_up, names.shared_down}};
}

/// Adds one kind of matrix of all experts: gates, products or `down`.
class ExpertWeights {
 public:
  ExpertWeights(const ModelConfig& config, const ExpertsSpec& spec, LayerWeights& to)
      : spec_(spec), hidden_(config.hidden_size), to_(to) {}

  void add_gate(int64_t expert) { add_opening(spec_.names.gate, expert, 0); }
  void add_up(int64_t expert) { add_opening(spec_.names.up, expert, 1); }
  void add_down(int64_t expert) {
    add(spec_.names.down, expert, spec_.names.down_stack, kOpenedExpertInput, hidden_, spec_.width,
        {.index = expert});
  }

 private:
  bool is_interleaved() const { return spec_.storage == ExpertStorage::kInterleaved; }

  /// `half`: 0 for gates, 1 for products.
  void add_opening(const ModuleName& name, int64_t expert, int64_t half) {
    StackedPlace place{.index = expert};
    place.first = is_interleaved() ? half : half * spec_.width;
    place.step = is_interleaved() ? 2 : 1;
    add(name, expert, spec_.names.gate_up_stack.hugging_face, kExpertInput, spec_.width, hidden_,
        place);
  }

  void add(const ModuleName& name, int64_t expert, const char* stack, int64_t input, int64_t out,
           int64_t in, const StackedPlace& in_folder) {
    const std::string module = of_expert(name, expert);
    const bool is_opening = input == kExpertInput;
    const int64_t rows = is_opening ? 2 * out : out;
    const auto add_one = [&](bool is_bias) {
      const char* kind = is_bias ? "bias" : "weight";
      const auto in_gguf = [&](const char* tensor) {
        return fmt::format("{}.{}", to_.gguf_module(tensor), kind);
      };
      const auto shape = [&](int64_t height) {
        return is_bias ? std::vector<int64_t>{spec_.count, height}
                       : std::vector<int64_t>{spec_.count, height, in};
      };
      WeightSpec weight{
          .name = fmt::format("{}.{}", to_.folder_module(module), kind),
          .shape = is_bias ? std::vector<int64_t>{out} : std::vector<int64_t>{out, in},
          .gguf = in_gguf(name.gguf),
          .input = input};
      StackedPlace place = in_folder;
      place.name = to_.folder_module(stack) + (is_bias ? "_bias" : "");
      place.shape = shape(rows);
      if (is_interleaved() && !is_bias) {
        std::swap(place.shape[1], place.shape[2]);
        place.is_transposed = true;
      }
      weight.share = static_cast<double>(spec_.chosen) / static_cast<double>(spec_.count);
      if (spec_.storage != ExpertStorage::kApart) weight.folder = place.name;
      weight.stacked.push_back(place);
      weight.stacked.push_back({.name = weight.gguf, .shape = shape(out), .index = expert});
      if (is_opening) {  // or gates before products in one
        const int64_t first = name.gguf == spec_.names.gate.gguf ? 0 : out;
        weight.stacked.push_back({.name = in_gguf(spec_.names.gate_up_stack.gguf),
                                  .shape = shape(rows),
                                  .index = expert,
                                  .first = first});
        if (spec_.is_fused_in_gguf) weight.gguf = weight.stacked.back().name;
      }
      to_.add(std::move(weight));
    };
    add_one(false);
    if (spec_.bias) add_one(true);
  }

  const ExpertsSpec& spec_;
  const int64_t hidden_;
  LayerWeights& to_;
};

}  // namespace

void Experts::add_weights(const ModelConfig& config, const ExpertsSpec& spec, LayerWeights& to) {
  const ExpertNames& names = spec.names;
  const int64_t E = config.hidden_size, X = spec.count;
  to.add(names.router, {.out = X, .in = E, .has_bias = spec.router_bias, .input = kExpertInput});
  if (spec.score_bias) {
    to.add_tensor(names.score_bias, {.name = {}, .shape = {X}, .is_wide = true, .is_buffer = true});
  }
  if (spec.input_scale) {
    to.add_tensor(names.input_scale, {.name = {}, .shape = {E}, .is_factor = true});
  }
  if (spec.expert_scale) {
    to.add_tensor(names.expert_scale, {.name = {}, .shape = {X}, .is_factor = true});
  }
  ExpertWeights experts(config, spec, to);
  for (int64_t expert = 0; expert < X; ++expert) {
    experts.add_gate(expert);
    experts.add_up(expert);
    experts.add_down(expert);
  }
  if (spec.shared_width == 0) return;
  FeedForward::add_weights(config, shared_spec(spec), to);
  to.add(names.share, {.out = 1, .in = E, .input = kExpertInput});
}

Experts::Experts(const ExpertsSpec& experts, const LayerSource& source)
    : spec(experts), layer(source.layer()), router(source.linear(experts.names.router)) {
  const ExpertNames& names = spec.names;
  for (int64_t i = 0; i < spec.count; ++i) {
    all.push_back({source.linear(of_expert(names.gate, i)), source.linear(of_expert(names.up, i)),
                   source.linear(of_expert(names.down, i))});
    for (Linear* linear : {&all.back().gate, &all.back().up, &all.back().down}) {
      linear->is_module = false;
      linear->share = static_cast<double>(spec.chosen) / static_cast<double>(spec.count);
    }
  }
  score_bias = source.tensor(names.score_bias);
  input_scale = source.tensor(names.input_scale);
  expert_scale = source.tensor(names.expert_scale);
  if (spec.shared_width == 0) return;
  shared.emplace(shared_spec(spec), source);
  share = source.linear(names.share);
}

std::vector<Linear*> Experts::linears() {
  std::vector<Linear*> linears;
  for (Expert& expert : all) {
    for (Linear* linear : {&expert.gate, &expert.up, &expert.down}) linears.push_back(linear);
  }
  if (shared) {
    for (Linear* linear : shared->linears()) linears.push_back(linear);
  }
  return linears;
}

void Experts::add_others(NamedTensors& to) const {
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) to.emplace_back(name, tensor);
  };
  for (const Linear* linear : {&router, &share}) {
    add(linear->name + ".weight", linear->weight);
    add(linear->name + ".bias", linear->bias);
  }
  add(tensor_name(layer, spec.names.score_bias), score_bias);
  add(tensor_name(layer, spec.names.input_scale), input_scale);
  add(tensor_name(layer, spec.names.expert_scale), expert_scale);
}

Experts::Choice Experts::choose(const ModelConfig& config, const at::Tensor& routed_TE) const {
  at::Tensor seen = routed_TE;
  if (input_scale.defined()) {
    const double root = std::sqrt(static_cast<double>(config.hidden_size));
    seen = unit_norm(config, seen) * input_scale / root;
  }
  const at::Tensor logits_TX = router(seen).to(at::kFloat);
  at::Tensor scores_TX = logits_TX;
  if (spec.routing == Routing::kSoftmax) scores_TX = at::softmax(logits_TX, -1);
  if (spec.routing == Routing::kSigmoid) scores_TX = at::sigmoid(logits_TX);
  const at::Tensor compared = score_bias.defined() ? scores_TX + score_bias : scores_TX;
  const at::Tensor experts_TK = std::get<1>(compared.topk(spec.chosen, -1));
  at::Tensor weights_TK = scores_TX.gather(-1, experts_TK);
  if (spec.routing == Routing::kSoftmaxOfChosen) weights_TK = at::softmax(weights_TK, -1);
  if (spec.is_normalised) {
    weights_TK = weights_TK / (weights_TK.sum(-1, true) + spec.sum_offset);
  }
  if (spec.scale != 1.0) weights_TK = weights_TK * spec.scale;
  if (expert_scale.defined()) {
    weights_TK =
        weights_TK *
        expert_scale.to(at::kFloat).index_select(0, experts_TK.flatten()).view(experts_TK.sizes());
  }
  return {experts_TK, weights_TK};
}

at::Tensor Experts::operator()(const ModelConfig& config, const at::Tensor& input,
                               const at::Tensor& routed, const at::Tensor& adapter_gate) const {
  const int64_t E = input.size(-1), K = spec.chosen;
  const at::Tensor input_TE = input.reshape({-1, E});
  const at::Tensor gate_T1 = adapter_gate.defined() ? adapter_gate.reshape({-1, 1}) : at::Tensor();
  const Choice choice = choose(config, routed.reshape({-1, E}));
  // Rows of the same expert, one expert after another; in each the tokens' order.
  const at::Tensor order = choice.experts_TK.flatten().argsort(/*stable=*/true);
  const at::Tensor tokens = order.div(K, "floor");
  const at::Tensor counts = at::bincount(choice.experts_TK.flatten(), {}, spec.count).to(at::kCPU);
  const at::Tensor rows = input_TE.index_select(0, tokens);
  const at::Tensor gates = gate_T1.defined() ? gate_T1.index_select(0, tokens) : at::Tensor();
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t count = counts.const_data_ptr<int64_t>()[i];
    if (count == 0) continue;
    const at::Tensor own = rows.narrow(0, begin, count);
    const at::Tensor gate = gates.defined() ? gates.narrow(0, begin, count) : at::Tensor();
    outputs.push_back(all[i].down(
        activated(spec.activation, all[i].gate(own, gate), all[i].up(own, gate)), gate));
    begin += count;
  }
  const at::Tensor output_TKE =
      at::cat(outputs).index_select(0, order.argsort()).view({-1, K, E}).to(at::kFloat);
  // One by one, so that the bits of a sum do not depend on the number of tokens.
  at::Tensor sum_TE = output_TKE.select(1, 0) * choice.weights_TK.narrow(1, 0, 1);
  for (int64_t k = 1; k < K; ++k) {
    sum_TE = sum_TE + output_TKE.select(1, k) * choice.weights_TK.narrow(1, k, 1);
  }
  if (shared) {
    const at::Tensor of_shared = (*shared)(input_TE, gate_T1).to(at::kFloat);
    sum_TE = sum_TE + at::sigmoid(share(input_TE).to(at::kFloat)) * of_shared;
  }
  return sum_TE.to(input.scalar_type()).view(input.sizes());
}

}  // namespace predgen
