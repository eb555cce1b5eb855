#include "checkpoint/save_gguf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "checkpoint/gguf_architectures.h"
#include "checkpoint/gguf_hybrids.h"
#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/tensor_views.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr const char* kRopeDivisors = kGgufRopeDivisors;

std::string_view architecture_of(const ModelConfig& config) {
  for (const auto& [gguf, architecture] : kGgufArchitectures) {
    if (config.architecture == architecture) return gguf;
  }
  throw UserError("a GGUF file cannot hold a {}", config.architecture);
}

[[noreturn]] void refuse(const ModelConfig& config, const std::string& what) {
  throw UserError("llama.cpp has no {} for a {}: write a Hugging Face folder instead", what,
                  config.architecture);
}

/// What llama.cpp assumes about an architecture.
void check_assumptions(const ModelConfig& config, std::string_view architecture) {
  constexpr int64_t kSmolPattern = 4;
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    const AttentionSpec& attention = config.layer(i).attention;
    const bool slides = attention.window > 0;
    if (architecture == "smollm3" && attention.rope != (i % kSmolPattern == 3 ? 1 : 0)) {
      refuse(config, "other layers without positions than every fourth");
    }
    if (architecture == "gemma3" && slides != ((i + 1) % kGemma3Pattern != 0)) {
      refuse(config, "other windows than in all but every sixth layer");
    }
    const bool is_olmo3 = config.architecture == "Olmo3ForCausalLM";
    if (is_olmo3 && slides != ((i + 1) % kOlmo3Pattern != 0)) {
      refuse(config, "other windows than in all but every fourth layer");
    }
    if (architecture.starts_with("qwen") && slides) refuse(config, "windows");
    if (architecture == "gpt-oss" && slides != (i % 2 == 0)) {
      refuse(config, "other windows than in every other layer");
    }
    const ExpertsSpec& experts = config.layer(i).experts;
    if (architecture == "qwen3moe" && (experts.count == 0 || !experts.is_normalised)) {
      refuse(config, "layers without experts or \"norm_topk_prob\": false");
    }
  }
  if (architecture == "lfm2moe") {
    const ExpertsSpec& experts = config.layers.back().experts;
    if (!experts.is_normalised || experts.scale != 1.0) {
      refuse(config, "\"norm_topk_prob\": false or \"routed_scaling_factor\"");
    }
  }
  if (config.ropes.front().query_beta != 0 && config.ropes.front().kind != RopeKind::kYarn) {
    refuse(config, "queries that grow with their position without YaRN");
  }
  if (config.architecture == "Olmo3ForCausalLM") {
    const RopeConfig& sliding = config.ropes.back();
    if (sliding.theta != config.ropes.front().theta || sliding.kind != RopeKind::kDefault) {
      refuse(config, "positions of their own in layers with a window");
    }
  }
  if (architecture == "gemma4" && config.ropes.front().kind != RopeKind::kProportional) {
    refuse(config, "positions of other types than proportional");
  }
  if (architecture == "gemma4" && config.ropes.front().factor != 1.0) {
    refuse(config, "stretched positions");
  }
  if (architecture == "gemma4" && config.ropes.back().kind != RopeKind::kDefault) {
    refuse(config, "stretched positions in layers with a window");
  }
  if (architecture == "gemma3") {
    const int64_t width = gemma3_query_scalar(config.num_layers(), config.hidden_size,
                                              config.num_heads, config.head_dim);
    if (config.layer(0).attention.query_scalar != static_cast<double>(width)) {
      refuse(config, "query_pre_attn_scalar of its own");
    }
  }
}

class Writer {
 public:
  explicit Writer(const GgufExport& what)
      : what_(what), config_(what.config), architecture_(architecture_of(what.config)) {}

  GgufContents contents() {
    check_assumptions(config_, architecture_);
    add_general();
    add_sizes();
    add_rope();
    if (what_.tokenizer) add_gguf_tokenizer(*what_.tokenizer, config_.vocab_size, contents_);
    add_tensors();
    return std::move(contents_);
  }

 private:
  std::string key(const char* end) const { return fmt::format("{}.{}", architecture_, end); }
  void add_size(const char* end, int64_t size) {
    contents_.add(key(end), static_cast<uint32_t>(size));
  }
  void add_number(const char* end, double number) {
    contents_.add(key(end), static_cast<float>(number));
  }

  void add_general() {
    constexpr uint32_t kQuantizationVersion = 2;
    contents_.add("general.architecture", architecture_);
    contents_.add("general.type", "model");
    contents_.add("general.name", what_.name);
    contents_.add("general.quantization_version", kQuantizationVersion);
  }

  void add_sizes() {
    add_size("context_length", config_.max_positions);
    add_size("embedding_length", config_.hidden_size);
    add_size("block_count", config_.num_layers());
    add_size("attention.head_count", config_.num_heads);
    if (architecture_ == "gemma4") {
      add_sizes_by_layer();
    } else {
      add_size("feed_forward_length", config_.intermediate_size);
      if (!is_gguf_lfm2(architecture_)) add_size("attention.head_count_kv", config_.num_kv_heads);
      write_gguf_hybrid(config_, architecture_, contents_);
      add_size("attention.key_length", config_.head_dim);
      add_size("attention.value_length", config_.head_dim);
    }
    add_size("vocab_size", config_.vocab_size);
    add_number("attention.layer_norm_rms_epsilon", config_.rms_norm_eps);
    add_experts();
    const int64_t window = config_.widest_window();
    if (window > 0 && architecture_ == "mistral3") refuse(config_, "windows");
    if (window > 0) add_size("attention.sliding_window", window);
    if (config_.architecture == "Olmo3ForCausalLM") {
      std::vector<bool> slides;
      for (const LayerSpec& layer : config_.layers) slides.push_back(layer.attention.window > 0);
      contents_.add(key("attention.sliding_window_pattern"), slides);
    }
    if (config_.logit_softcap > 0) {
      add_number("final_logit_softcapping", config_.logit_softcap);
    }
  }

  /// The first layers may have none.
  void add_experts() {
    const auto has_some = [](const LayerSpec& layer) { return layer.experts.count > 0; };
    const auto first = std::ranges::find_if(config_.layers, has_some);
    if (first == config_.layers.end()) return;
    const ExpertsSpec& experts = first->experts;
    add_size("expert_count", experts.count);
    add_size("expert_used_count", experts.chosen);
    add_size("expert_feed_forward_length", experts.width);
    if (experts.shared_width > 0) {
      add_size("expert_shared_feed_forward_length", experts.shared_width);
    }
    if (architecture_ != "lfm2moe") return;
    add_size("leading_dense_block_count", first - config_.layers.begin());
    add_size("expert_gating_func", kGgufSigmoid);
  }

  /// Of Gemma 4, whose last layer has no window.
  void add_sizes_by_layer() {
    const int64_t full = config_.head_dim_of(config_.layers.back().attention);
    std::vector<int32_t> widths, kv_heads;
    std::vector<bool> slides;
    int64_t num_shared = 0;
    for (const LayerSpec& layer : config_.layers) {
      const int64_t own = layer.feed_forward.width;
      widths.push_back(static_cast<int32_t>(own > 0 ? own : config_.intermediate_size));
      kv_heads.push_back(static_cast<int32_t>(config_.num_kv_heads_of(layer.attention)));
      slides.push_back(layer.attention.window > 0);
      num_shared += layer.attention.shares >= 0 ? 1 : 0;
    }
    const auto add_list = [&](const char* end, const std::vector<int32_t>& sizes) {
      const bool are_one = std::ranges::adjacent_find(sizes, std::not_equal_to<>()) == sizes.end();
      are_one ? add_size(end, sizes.front()) : contents_.add(key(end), sizes);
    };
    add_list("feed_forward_length", widths);
    add_list("attention.head_count_kv", kv_heads);
    contents_.add(key(kGgufWindowPattern), slides);
    add_size("attention.shared_kv_layers", num_shared);
    add_size("attention.key_length", full);
    add_size("attention.value_length", full);
    const int64_t sliding = config_.head_dim_of(config_.ropes.at(1));
    add_size("attention.key_length_swa", sliding);
    add_size("attention.value_length_swa", sliding);
    add_size("rope.dimension_count_swa", sliding);
    add_size("embedding_length_per_layer_input", config_.layer_input_width);
  }

  void add_rope() {
    const RopeConfig& rope = config_.ropes.front();
    add_size("rope.dimension_count", rope.rotary_dim(config_.head_dim_of(rope)));
    add_number("rope.freq_base", rope.theta);
    if (architecture_.starts_with("gemma"))
      add_number("rope.freq_base_swa", config_.ropes.at(1).theta);
    switch (rope.kind) {
      case RopeKind::kDefault:
      case RopeKind::kLlama3:  // as a tensor
      case RopeKind::kProportional:
        return;
      case RopeKind::kLinear:
        contents_.add(key("rope.scaling.type"), "linear");
        add_number("rope.scaling.factor", rope.factor);
        return;
      case RopeKind::kYarn:
        contents_.add(key("rope.scaling.type"), "yarn");
        add_number("rope.scaling.factor", rope.factor);
        add_size("rope.scaling.original_context_length", rope.original_positions);
        add_number("rope.scaling.yarn_beta_fast", rope.beta_fast);
        add_number("rope.scaling.yarn_beta_slow", rope.beta_slow);
        if (architecture_ == "mistral3") {
          add_ministral3_scaling(rope);
        } else if (const double own = rope.attention_factor / yarn_attention_factor(rope.factor);
                   std::abs(own - 1.0) > 1e-6) {
          add_number("rope.scaling.attn_factor", own);                         // for llama.cpp
          add_number("rope.scaling.yarn_attn_factor", rope.attention_factor);  // as converters do
        }
        if (rope.truncate == (architecture_ == "gpt-oss")) {
          refuse(config_, fmt::format("rope_scaling with \"truncate\": {}", rope.truncate));
        }
        return;
      case RopeKind::kDynamic:
      case RopeKind::kNone:
        refuse(config_, "dynamic rope_scaling");
    }
  }

  /// By what llama.cpp divides the usual factor; 0: by nothing.
  void add_ministral3_scaling(const RopeConfig& rope) {
    const double divisor = yarn_attention_factor(rope.factor) / rope.attention_factor;
    const double weight = (divisor - 1.0) / (yarn_attention_factor(rope.factor) - 1.0);
    add_number("rope.scaling.yarn_log_multiplier", rope.factor > 1 ? weight : 0.0);
    if (rope.query_beta != 0) add_number("attention.temperature_scale", rope.query_beta);
  }

  const GgufType& type_of(const WeightSpec& weight) const {
    // Biases of experts, too, are matrices.
    const bool is_vector = weight.shape.size() == 1 || weight.gguf.ends_with(".bias");
    // Routers stay wide, as llama.cpp's own conversion leaves them.
    if (is_vector || weight.gguf.find("_gate_inp") != std::string::npos) {
      return written_gguf_type("F32");
    }
    const bool is_vocabulary = weight.name == kEmbeddingName || weight.name == kHeadName;
    const GgufType& type =
        is_vocabulary && what_.type.name == "Q4_0" ? written_gguf_type("Q8_0") : what_.type;
    return weight.shape.back() % type.block_values == 0 ? type : written_gguf_type("F16");
  }

  void add_tensors() {
    const RopeConfig& rope = config_.ropes.front();
    if (rope.kind == RopeKind::kLlama3 || rope.kind == RopeKind::kProportional) {
      contents_.add_tensor(kRopeDivisors, written_gguf_type("F32"),
                           {config_.head_dim_of(rope) / 2});
    }
    const StackedLayout layout(config_, StackedLayout::Format::kGguf);
    for (const WeightSpec& weight : layout.tensors()) {
      contents_.add_tensor(weight.gguf, type_of(weight), gguf_shape(weight));
    }
  }

  const GgufExport& what_;
  const ModelConfig& config_;
  const std::string_view architecture_;
  GgufContents contents_;
};

at::Tensor rope_divisors(const ModelConfig& config) {
  const RopeConfig& own = config.ropes.front();
  if (own.kind == RopeKind::kProportional) {
    const at::Tensor frequencies = own.inverse_frequencies(config.head_dim_of(own));
    return at::where(frequencies > 0, at::ones_like(frequencies),
                     at::full_like(frequencies, kGgufUnturned));
  }
  const RopeConfig plain{.theta = config.ropes.front().theta};
  return plain.inverse_frequencies(config.head_dim) /
         config.ropes.front().inverse_frequencies(config.head_dim);
}

}  // namespace

GgufContents gguf_contents(const GgufExport& what) { return Writer(what).contents(); }

void write_gguf(const std::filesystem::path& file, const GgufExport& what, const TensorRows& rows) {
  const ModelConfig& config = what.config;
  const std::string_view architecture = architecture_of(config);
  const StackedLayout layout(config, StackedLayout::Format::kGguf);
  std::map<std::string, WeightSpec> weights;
  for (const WeightSpec& weight : layout.tensors()) weights[weight.gguf] = weight;
  gguf_contents(what).write(file, [&](const std::string& gguf, int64_t begin, int64_t end) {
    if (gguf == kRopeDivisors) return rope_divisors(config).slice(0, begin, end);
    const WeightSpec& weight = weights.at(gguf);
    const int64_t heads = rows_in_pairs(weight, architecture);
    if (heads == 0) {
      const auto wide = [&](int64_t first, int64_t last) {
        return layout.rows(weight.name, first, last, rows).to(at::kFloat);
      };
      return in_gguf_form(weight, begin, end, wide) + added_to(weight, config);
    }
    const auto [first, last] = whole_heads(begin, end, heads);
    return in_pairs(rows(weight.name, first, last).to(at::kFloat), heads)
        .slice(0, begin - first, end - first);
  });
}

}  // namespace predgen
