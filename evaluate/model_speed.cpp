#include "evaluate/model_speed.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "core/error.h"
#include "core/random.h"
#include "core/stop.h"
#include "model/device_memory.h"
#include "model/memory_estimate.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/sampler.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/verifier.h"

namespace predgen::evaluate {
namespace {

constexpr int kPassesPerRun = 4;  // of each width: one alone is too short for a small model
constexpr int64_t kWarmUp = -1;   // in place of a run's index

/// What stays the same over all runs. Borrows everything.
class SpeedRuns {
 public:
  SpeedRuns(Engine& engine, const SpeedConfig& config, const SpeedTexts& texts, const Clock& clock,
            const std::stop_token& stop)
      : engine_(engine),
        config_(config),
        texts_(texts),
        clock_(clock),
        stop_(stop),
        single_(make_generator({.name = "ar"}, engine)),
        prefill_(engine, verifier_, *single_, config.prompt),
        sequence_(engine.make_sequence(config.num_positions())) {
    sequence_.append(random_ids(config.prompt, "context", 0));
    engine.run({.sequence = &sequence_});
    drafted_ = random_ids(*std::ranges::max_element(config.drafts), "draft", 0);
  }

  ModelSpeed no_runs() const {
    ModelSpeed speed;
    speed.answers.push_back({.block = 1});
    for (const int64_t draft : config_.drafts) {
      speed.verify.push_back({.draft = draft});
      speed.answers.push_back({.block = draft});
    }
    return speed;
  }

  void prefill(int64_t run, ModelSpeed& speed) {
    TokenIds prompt = random_ids(config_.prompt, "prompt", run);
    prompt[0] =
        (run - kWarmUp) % engine_.model().vocab_size();  // no prefix in common with the last one
    speed.prefill.push_back(seconds_of([&] { prefill_.prefill(prompt); }));
  }

  void decode(ModelSpeed& speed) {
    back_to_context();
    GenerationResult result;
    const MemoryRequests before = memory_requests();
    const double seconds = seconds_of([&] {
      result = single_->generate(sequence_, {},
                                 {.max_new_tokens = config_.generate, .stop_tokens = {}}, go_on_);
    });
    PREDGEN_CHECK(result.num_new_tokens == config_.generate, "{} tokens", result.num_new_tokens);
    const MemoryRequests after = memory_requests();
    const auto per_token = [&](auto amount) {
      return static_cast<double>(amount) / static_cast<double>(config_.generate);
    };
    speed.decode.push_back(per_token(seconds));
    speed.page_faults.push_back(per_token(after.page_faults - before.page_faults));
    std::optional<double> bytes;
    if (after.allocated_bytes) bytes = per_token(*after.allocated_bytes - *before.allocated_bytes);
    speed.allocated_bytes.push_back(bytes);
  }

  void verify(ModelSpeed& speed) {
    double step = 0;
    std::vector<double> drafts(config_.drafts.size());
    for (int pass = 0; pass < kPassesPerRun; ++pass) {
      step += step_seconds();
      for (size_t i = 0; i < drafts.size(); ++i) drafts[i] += verify_seconds(config_.drafts[i]);
    }
    speed.step.push_back(step / kPassesPerRun);
    for (size_t i = 0; i < drafts.size(); ++i) {
      speed.verify[i].seconds.push_back(drafts[i] / kPassesPerRun);
      speed.verify[i].in_steps.push_back(drafts[i] / step);
    }
  }

  void answer(int64_t run, AnswerSpeed& speed, const AnswerSpeed& autoregressive) {
    const auto num_prompts = static_cast<int64_t>(texts_.prompts.size());
    const TokenIds& prompt = texts_.prompts[static_cast<size_t>((run + num_prompts) % num_prompts)];
    const auto jacobi =
        speed.block == 1
            ? nullptr
            : make_generator({.name = "jacobi", .block_size = speed.block, .seed = config_.seed},
                             engine_);
    InputTimeSpeculator speculator(
        engine_, verifier_, jacobi ? *jacobi : *single_,
        static_cast<int64_t>(prompt.size()) + config_.generate + speed.block);
    const GenerationConfig generation{.max_new_tokens = config_.generate,
                                      .stop_tokens = texts_.stop_tokens};
    // The first callback is from the pass over the prompt; the generator's own follow.
    std::optional<Seconds> start;
    const SpeculationStep step = speculator.update(prompt, "", generation, [&](TokenSpan) {
      if (!start) start = clock_.now();
      return go_on_({});
    });
    const double seconds = (clock_.now() - start.value()).count();
    const auto num_tokens = static_cast<double>(step.generation.num_new_tokens);
    const auto num_passes = static_cast<double>(step.generation.num_forward_passes);
    std::optional<double> per_pass, passes_per_token, rate, speedup;
    if (num_tokens > 0) {
      per_pass = seconds / num_passes;
      passes_per_token = num_passes / num_tokens;
      rate = num_tokens / seconds;
      const auto& single =
          &speed == &autoregressive ? rate : autoregressive.tokens_per_second.back();
      if (single) speedup = *rate / *single;
    }
    speed.seconds_per_pass.push_back(per_pass);
    speed.passes_per_token.push_back(passes_per_token);
    speed.tokens_per_second.push_back(rate);
    speed.speedup.push_back(speedup);
  }

 private:
  TokenIds random_ids(int64_t count, std::string_view purpose, int64_t index) const {
    Random random(config_.seed, purpose, static_cast<uint64_t>(index));
    TokenIds ids(static_cast<size_t>(count));
    for (TokenId& id : ids) {
      id = static_cast<TokenId>(random.below(static_cast<uint64_t>(engine_.model().vocab_size())));
    }
    return ids;
  }

  double seconds_of(const auto& work) const {
    throw_if_stopped(stop_);
    const Seconds start = clock_.now();
    work();
    return (clock_.now() - start).count();
  }

  /// The last token of the context is pending again.
  void back_to_context() { sequence_.truncate(config_.prompt); }

  double step_seconds() {
    back_to_context();
    return seconds_of([&] {
      single_->generate(sequence_, {}, {.max_new_tokens = 1, .stop_tokens = {}}, go_on_);
    });
  }

  /// The pass and the verdict as in InputTimeSpeculator, one prompt token being new.
  double verify_seconds(int64_t length) {
    back_to_context();
    const TokenSpan draft = TokenSpan(drafted_).first(static_cast<size_t>(length));
    return seconds_of([&] {
      const at::Tensor logits = *engine_.run({.sequence = &sequence_, .draft = draft}).logits;
      verifier_.verify(
          {.tokens = draft, .first_sentence = length, .stop_tokens = {}, .prompt_text = {}},
          {.logits_DV = logits.narrow(0, 0, length), .most_likely = argmax_rows(logits)});
    });
  }

  Engine& engine_;
  const SpeedConfig& config_;
  const SpeedTexts& texts_;
  const Clock& clock_;
  const std::stop_token stop_;
  const TokenCallback go_on_ = [this](TokenSpan) {
    throw_if_stopped(stop_);
    return true;
  };
  GreedyVerifier verifier_;
  std::unique_ptr<Generator> single_;
  InputTimeSpeculator prefill_;
  Sequence sequence_;  // the context, all of it cached; then what a part adds
  TokenIds drafted_;
};

}  // namespace

int64_t SpeedConfig::num_positions() const {
  return prompt + std::max(generate, *std::ranges::max_element(drafts));
}

int64_t num_speed_parts(const SpeedConfig& config) {
  return (config.runs + 1) * (4 + static_cast<int64_t>(config.drafts.size()));
}

ModelSpeed measure_speed(Engine& engine, const SpeedConfig& config, const SpeedTexts& texts,
                         const Clock& clock, const std::function<void()>& on_part,
                         const std::stop_token& stop) {
  PREDGEN_CHECK(config.num_positions() <= engine.model().max_positions(), "{} positions of {}",
                config.num_positions(), engine.model().max_positions());
  PREDGEN_CHECK(!texts.prompts.empty(), "no texts");
  SpeedRuns runs(engine, config, texts, clock, stop);
  ModelSpeed warm_up = runs.no_runs(), counted = runs.no_runs();
  for (int64_t run = kWarmUp; run < config.runs; ++run) {
    ModelSpeed& speed = run == kWarmUp ? warm_up : counted;
    runs.prefill(run, speed);
    on_part();
    runs.decode(speed);
    on_part();
    runs.verify(speed);
    on_part();
    for (AnswerSpeed& answer : speed.answers) {
      runs.answer(run, answer, speed.answers.front());
      on_part();
    }
  }
  return counted;
}

double DecodeBytes::per_token(double positions) const {
  return static_cast<double>(weights + adapter) + static_cast<double>(kv_per_position) * positions;
}

DecodeBytes decode_bytes(const Transformer& model, Quantization quantization) {
  const ModelConfig& config = model.config();
  const auto bytes_per_value = static_cast<int64_t>(at::elementSize(model.dtype()));
  DecodeBytes bytes;
  bytes.weights = weight_bytes(config, quantization, bytes_per_value, /*active=*/true);
  bytes.idle = weight_bytes(config, quantization, bytes_per_value) - bytes.weights;
  const bool is_quantized =
      quantization == Quantization::kInt8 || quantization == Quantization::kInt4;
  const bool has_own_head = !config.tie_word_embeddings || is_quantized;
  if (has_own_head) {  // then embeddings are only looked up
    bytes.weights -= config.vocab_size * config.hidden_size * bytes_per_value;
  }
  double weights = 0.0, idle = 0.0;  // what they have more, or less, as stored
  const auto count_as_stored = [&](const Linear& linear) {
    if (is_quantized || !linear.quantized) return;
    const QuantizedWeight& matrix = *linear.quantized;
    const auto more =
        static_cast<double>(matrix.num_bytes() - matrix.out() * matrix.in() * bytes_per_value);
    weights += linear.share * more;
    idle += (1.0 - linear.share) * more;
  };
  count_as_stored(model.head());
  for (const Linear* linear : model.linears()) {
    count_as_stored(*linear);
    if (!linear->lora_A.defined() || !linear->adapter_enabled) continue;
    bytes.adapter += static_cast<int64_t>(linear->lora_A.nbytes() + linear->lora_B.nbytes());
  }
  bytes.weights += std::llround(weights);
  bytes.idle += std::llround(idle);
  bytes.kv_per_position = kv_bytes_read(config, bytes_per_value);
  return bytes;
}

}  // namespace predgen::evaluate
