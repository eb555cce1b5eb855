#include "cli/model_setup.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "checkpoint/load_model.h"
#include "core/error.h"
#include "runtime/generate/make_generator.h"

namespace predgen::cli {

namespace {

/// On a terminal, from a second on: how much is loaded. Leaves nothing there.
class LoadingLine {
 public:
  LoadingLine() = default;
  LoadingLine(const LoadingLine&) = delete;
  LoadingLine& operator=(const LoadingLine&) = delete;
  ~LoadingLine() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
  }

  void show(double share) {
    constexpr std::chrono::seconds kPatience{1};
    if (!is_terminal_ || std::chrono::steady_clock::now() - start_ < kPatience) return;
    std::fprintf(stderr, "\rloading the model: %d %%", static_cast<int>(std::floor(100 * share)));
    std::fflush(stderr);
    is_shown_ = true;
  }

 private:
  const bool is_terminal_ = isatty(STDERR_FILENO) != 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_shown_ = false;
};

}  // namespace

void set_num_threads(int64_t num_threads) {
  if (num_threads < 0) throw UserError("--threads {}: must be 0 or more", num_threads);
  if (num_threads > 0) at::set_num_threads(static_cast<int>(num_threads));
}

std::unique_ptr<Transformer> set_up_model(const Checkpoint& checkpoint, const ModelOptions& options,
                                          bool prepares_passes,
                                          const LoadOptions::Progress& on_progress,
                                          const std::string& draft_model,
                                          Transformer* guesses_for) {
  set_num_threads(options.threads);
  LoadingLine line;
  const LoadOptions::Progress shown =
      on_progress ? on_progress : [&line](double share) { line.show(share); };
  return load_model(checkpoint, options.adapter,
                    {.device = options.device,
                     .dtype = options.dtype,
                     .quantization = parse_quantization(options.quantize),
                     .state_memory = options.state_memory << 20,
                     .has_mtp = draft_model == kOwnLayer,
                     .guesses_for = guesses_for,
                     .prepares_passes = prepares_passes,
                     .on_progress = shown});
}

std::shared_ptr<const Transformer> set_up_draft_model(const Checkpoint* draft, Transformer& model,
                                                      ModelOptions options) {
  if (draft == nullptr) return model.mtp();
  options.adapter.clear();
  return set_up_model(*draft, options, /*prepares_passes=*/true, {}, {}, &model);
}

void check_token_ids(TokenSpan tokens, const LanguageModel& model, const std::string& where) {
  if (tokens.empty()) throw UserError("{}: there are no tokens", where);
  for (const TokenId id : tokens) {
    if (id < 0 || id >= model.vocab_size()) {
      throw UserError("{}: token id {} is not in the model's vocabulary of {}", where, id,
                      model.vocab_size());
    }
  }
  const auto num_tokens = static_cast<int64_t>(tokens.size());
  if (num_tokens > model.max_positions()) {
    throw UserError("{}: {} tokens do not fit into the model's {} positions", where, num_tokens,
                    model.max_positions());
  }
}

}  // namespace predgen::cli
