#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/linear.h"
#include "model/model_config.h"
#include "model/parts/layer_weights.h"

namespace predgen {

// Shapes: T tokens, E hidden size, M that of the model guessed for, V vocabulary.

/// What a model that guesses for another one (AssistantSpec) has beside its layers; transformers'
/// modeling_gemma4_assistant.py.
struct Assistant {
  /// Appends its weights, by the names that a checkpoint has.
  static void add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights);
  Assistant(const AssistantSpec& spec, const WeightByName& weight);

  /// Sets read_layers to those of `model`. UserError, which names `where`, if this assistant, of
  /// the configuration `own`, is for another one.
  void find_layers(const ModelConfig& own, const ModelConfig& model, const std::string& where);

  /// [1,T,E] for the layers of tokens [1,T] and the hidden states [1,T,M] before them.
  at::Tensor inputs(const at::Tensor& tokens_1T, const at::Tensor& given_1TM) const;
  /// Logits [..,V] of hidden states [..,E]: if there are clusters, of the tokens of the best ones;
  /// the others' are -infinity (transformers': one less than the least).
  at::Tensor logits(const Linear& head, const at::Tensor& hidden) const;
  void add_tensors(NamedTensors& to) const;

  AssistantSpec spec;
  Linear before;        // [E,2M]
  Linear after;         // [M,E], makes what stands for the model's hidden state
  Linear clusters;      // [clusters,E]; empty: none
  at::Tensor ordering;  // [V], the tokens of the first cluster, of the second, ..
  /// The embeddings of the model, [1,T] to [1,T,M]; empty: there is no model yet.
  std::function<at::Tensor(const at::Tensor& tokens_1T)> embed;
  std::vector<int64_t> read_layers;  // KvLayout's
};

}  // namespace predgen
