#include "checkpoint/logit_check.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>

#include "model/attention_masks.h"
#include "model/parts/decoder_layer.h"
#include "tensors/safetensors.h"

namespace predgen {

// Shapes: N tokens of all rows, V vocabulary, R rows of the head, E hidden size.

namespace {

constexpr int64_t kNumRows = 4, kNumTokens = 64;

at::Tensor fixed_tokens(const ModelConfig& config) {
  const int64_t num_tokens = std::min(kNumTokens, config.context_length());
  return (at::arange(kNumRows * num_tokens, at::kLong) * 7919 + 11)
      .remainder(config.vocab_size)
      .view({kNumRows, num_tokens});
}

/// A model with one part in memory at a time.
class LayeredModel {
 public:
  /// `merged`: its adapter is applied on top of the weights; null for none. Borrows both.
  LayeredModel(const ModelWeights& weights, const MergedWeights* merged, at::Device device)
      : weights_(weights), merged_(merged), device_(device) {
    for (const WeightSpec& spec : weight_layout(config())) num_rows_[spec.name] = spec.shape[0];
  }

  const ModelConfig& config() const { return weights_.config(); }

  void embed(const at::Tensor& tokens_BT) {
    hidden_ = rows_of(kEmbeddingName, tokens_BT).view({tokens_BT.size(0), tokens_BT.size(1), -1}) *
              config().embedding_scale;
    if (config().layer_input_width > 0) side_.layer_inputs_BTLP = layer_inputs(tokens_BT);
  }

  void run_layer(int64_t index, std::span<const Rotation> rotations, AttentionMasks& masks) {
    DecoderLayer layer(config(), index, [this](const std::string& name) {
      return num_rows_.contains(name) ? load(name) : at::Tensor();
    });
    for (Linear* linear : layer.linears()) {
      const Linear* adapted = merged_ ? merged_->adapter_of(linear->name + ".weight") : nullptr;
      if (!adapted) continue;
      linear->lora_A = on_device(adapted->lora_A);
      linear->lora_B = on_device(adapted->lora_B);
      linear->lora_scaling = adapted->lora_scaling;
    }
    hidden_ = layer(config(), hidden_, rotations, masks(layer.window()), {},
                    config().has_side_inputs() ? &side_ : nullptr);
  }

  void norm() {
    hidden_ = rms_norm(config(), hidden_, load(config().final_norm.hugging_face)).flatten(0, 1);
  }

  /// Logits [N,R] of the vocabulary's ids [begin, end), on the CPU.
  at::Tensor logits(int64_t begin, int64_t end) const {
    return soft_cap(at::linear(hidden_, on_device(weights_.read_rows(head_name(), begin, end))),
                    config().logit_softcap)
        .cpu();
  }

 private:
  at::Tensor on_device(const at::Tensor& tensor) const { return tensor.to(device_, at::kFloat); }

  at::Tensor layer_inputs(const at::Tensor& tokens_BT) const {
    // The table has more rows than need be in memory.
    const LayerInputs inputs([&](const std::string& name) {
      return name == LayerInputs::kTable ? rows_of(name, tokens_BT) : load(name);
    });
    const at::Tensor places = at::arange(tokens_BT.numel(), at::kLong).view(tokens_BT.sizes());
    return inputs(config(), places.to(device_), hidden_);
  }

  /// The row of each token, one after the other.
  at::Tensor rows_of(const std::string& name, const at::Tensor& tokens_BT) const {
    const at::Tensor flat = tokens_BT.flatten();
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const int64_t id = flat[i].item<int64_t>();
      rows.push_back(weights_.read_rows(name, id, id + 1));
    }
    return on_device(at::cat(rows));
  }

  at::Tensor load(const std::string& name) const {
    return on_device(weights_.read_rows(name, 0, num_rows_.at(name)));
  }

  const char* head_name() const {
    return config().tie_word_embeddings ? kEmbeddingName : kHeadName;
  }

  const ModelWeights& weights_;
  const MergedWeights* merged_;
  const at::Device device_;
  std::map<std::string, int64_t> num_rows_;  // of every weight
  at::Tensor hidden_;
  SideInputs side_;
};

/// The largest logit of each position so far, and its token.
struct Top {
  at::Tensor value_N, id_N;

  void see(const at::Tensor& logits_NR, int64_t begin) {
    auto [value, id] = logits_NR.max(-1);
    id = id + begin;
    if (value_N.defined()) {
      const at::Tensor keeps = value_N >= value;  // the first among equals, like argmax
      value = at::where(keeps, value_N, value);
      id = at::where(keeps, id_N, id);
    }
    value_N = value;
    id_N = id;
  }
};

}  // namespace

LogitDifference compare_logits(const MergedWeights& merged, const ModelWeights& stored,
                               at::Device device, const std::function<void()>& between) {
  const at::NoGradGuard no_grad;
  const ModelConfig& config = merged.config();
  const at::Tensor tokens_BT = fixed_tokens(config);
  const int64_t T = tokens_BT.size(1);
  const at::Tensor positions_BT = at::arange(T, at::kLong).expand(tokens_BT.sizes()).to(device);
  const std::vector<Rotation> rotations =
      make_rotations(config, config.inverse_frequencies().to(device), positions_BT, at::kFloat);
  AttentionMasks masks({}, {}, T, 0, /*num_folded=*/1, at::device(device));
  LayeredModel expected(merged.base(), &merged, device), found(stored, nullptr, device);
  for (LayeredModel* model : {&expected, &found}) model->embed(tokens_BT);
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    for (LayeredModel* model : {&expected, &found}) {
      model->run_layer(i, rotations, masks);
      between();
    }
  }
  for (LayeredModel* model : {&expected, &found}) model->norm();

  LogitDifference result;
  result.num_positions = tokens_BT.numel();
  Top expected_top, found_top;
  double sum = 0.0;
  for_each_block({config.vocab_size, config.hidden_size}, [&](int64_t begin, int64_t end) {
    const at::Tensor wanted = expected.logits(begin, end), given = found.logits(begin, end);
    const at::Tensor difference = (wanted - given).abs();
    const double largest = difference.max().item<double>();
    result.max = largest <= result.max ? result.max : largest;  // NaN stays
    sum += difference.sum(at::kDouble).item<double>();
    result.largest_logit = std::max(result.largest_logit, wanted.abs().max().item<double>());
    expected_top.see(wanted, begin);
    found_top.see(given, begin);
    between();
  });
  result.mean = sum / static_cast<double>(result.num_positions * config.vocab_size);
  result.num_same_top = expected_top.id_N.eq(found_top.id_N).sum().item<int64_t>();
  return result;
}

}  // namespace predgen
