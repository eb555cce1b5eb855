#include "model/parts/assistant.h"

#include <array>
#include <limits>

#include "core/error.h"

namespace predgen {
namespace {

constexpr const char *kBefore = "pre_projection", *kAfter = "post_projection",
                     *kClusters = "masked_embedding.centroids",
                     *kOrdering = "masked_embedding.token_ordering";

std::string weight_of(const char* module) { return std::string(module) + ".weight"; }

Linear linear_of(const char* module, const WeightByName& weight) {
  Linear linear;
  linear.name = module;
  linear.weight = weight(weight_of(module));
  return linear;
}

}  // namespace

void Assistant::add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights) {
  const AssistantSpec& spec = *config.assistant;
  const int64_t E = config.hidden_size, M = spec.hidden_size;
  weights.push_back({.name = weight_of(kBefore), .shape = {E, 2 * M}});
  weights.push_back({.name = weight_of(kAfter), .shape = {M, E}});
  if (spec.num_clusters == 0) return;
  weights.push_back({.name = weight_of(kClusters), .shape = {spec.num_clusters, E}});
  weights.push_back(
      {.name = kOrdering, .shape = {config.vocab_size}, .is_wide = true, .is_index = true});
}

Assistant::Assistant(const AssistantSpec& config, const WeightByName& weight)
    : spec(config), before(linear_of(kBefore, weight)), after(linear_of(kAfter, weight)) {
  if (spec.num_clusters == 0) return;
  clusters = linear_of(kClusters, weight);
  ordering = weight(kOrdering).to(at::kLong);
}

void Assistant::find_layers(const ModelConfig& own, const ModelConfig& model,
                            const std::string& where) {
  const auto fail = [&](const std::string& why) {
    throw UserError("{}: cannot guess for this {}: {}", where, model.architecture, why);
  };
  if (spec.hidden_size != model.hidden_size || own.vocab_size != model.vocab_size) {
    fail(fmt::format("it is for a hidden size of {} and {} tokens, not {} and {}", spec.hidden_size,
                     own.vocab_size, model.hidden_size, model.vocab_size));
  }
  std::array<const AttentionSpec*, 2> theirs{};
  read_layers.assign(theirs.size(), 0);
  for (int64_t i = 0; i < model.num_layers(); ++i) {
    const LayerSpec& layer = model.layer(i);
    if (layer.recurrence || layer.attention.shares >= 0) continue;
    const size_t kind = layer.attention.window > 0 ? 1 : 0;
    theirs.at(kind) = &layer.attention;
    read_layers.at(kind) = model.place(i);
  }
  for (const LayerSpec& layer : own.layers) {
    const AttentionSpec* read = theirs.at(layer.attention.window > 0 ? 1 : 0);
    const bool fits = read != nullptr &&
                      model.num_kv_heads_of(*read) == own.num_kv_heads_of(layer.attention) &&
                      model.head_dim_of(*read) == own.head_dim_of(layer.attention);
    if (!fits) fail("its layers read keys and values of other heads");
  }
}

at::Tensor Assistant::inputs(const at::Tensor& tokens_1T, const at::Tensor& given_1TM) const {
  PREDGEN_CHECK(embed, "no model to guess for");
  return before(at::cat({embed(tokens_1T).to(given_1TM.options()), given_1TM}, -1));
}

at::Tensor Assistant::logits(const Linear& head, const at::Tensor& hidden) const {
  if (spec.num_clusters == 0) return head(hidden);
  const int64_t V = ordering.size(0);
  const at::Tensor hidden_NE = hidden.reshape({-1, hidden.size(-1)});
  const at::Tensor best = std::get<1>(clusters(hidden_NE).topk(spec.num_chosen, -1));
  const at::Tensor ids =
      ordering.view({spec.num_clusters, -1}).index({best}).flatten(1);  // [N,tokens]
  const at::Tensor rows =
      head.quantized ? head.quantized->rows(ids) : at::embedding(head.weight, ids);
  const at::Tensor chosen =
      at::matmul(rows.to(hidden.scalar_type()), hidden_NE.unsqueeze(-1)).squeeze(-1);
  const at::Tensor all =
      at::full({hidden_NE.size(0), V}, -std::numeric_limits<float>::infinity(), hidden.options());
  std::vector<int64_t> shape = hidden.sizes().vec();
  shape.back() = V;
  return all.scatter(-1, ids, chosen).view(shape);
}

void Assistant::add_tensors(NamedTensors& to) const {
  for (const Linear* linear : {&before, &after, &clusters}) {
    if (linear->weight.defined()) to.emplace_back(linear->name + ".weight", linear->weight);
  }
  if (ordering.defined()) to.emplace_back(kOrdering, ordering);
}

}  // namespace predgen
