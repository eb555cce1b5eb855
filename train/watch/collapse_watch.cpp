#include "train/watch/collapse_watch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/progress.h"
#include "data/repetition.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/sequence_pass.h"
#include "text/utf8.h"
#include "train/check_data.h"
#include "train/optim/precision.h"

namespace predgen::train {

WatchLog::WatchLog(const std::filesystem::path& folder, int64_t resumed_step,
                   const std::string& watched)
    : file_(folder / "watch.jsonl", resumed_step), watched_(watched) {
  read_metrics(folder / "watch.jsonl", [this](const Json& line) { take(line); });
}

void WatchLog::write(Json line) {
  line["watched"] = watched_;
  file_.write(line);
  take(line);
}

void WatchLog::take(const Json& line) {
  if (line.value("watched", "") != watched_) return;
  lowest_repetition_ = std::min(lowest_repetition_, json_get<double>(line, "repetition", "watch"));
  if (!first_answers_.empty()) return;
  for (const Json& answer : line.at("answers")) {
    first_answers_.push_back(json_get<TokenIds>(answer, "token_ids", "watch"));
  }
}

double text_agreement(TokenSpan a, TokenSpan b) {
  const size_t longest = std::max(a.size(), b.size());
  if (longest == 0) return 1.0;
  return 1.0 - static_cast<double>(edit_distance(a, b)) / static_cast<double>(longest);
}

namespace {

/// One answer under way.
struct Row {
  size_t number;  // of its prompt
  Sequence sequence;
  JacobiDraft draft;
  GenerationResult result{};
  bool finished = false;
};

class PassesOfARank {
 public:
  PassesOfARank(const LanguageModel& model, std::span<const PromptToAnswer> prompts,
                const GenerationConfig& limits)
      : prompts_(prompts),
        limits_(limits),
        // Runs everything in one pass, whatever its size: the ranks count passes.
        engine_(std::shared_ptr<const LanguageModel>(std::shared_ptr<void>(), &model),
                {.pass_tokens = std::numeric_limits<int64_t>::max()}),
        answers_(prompts.size()) {}

  /// Admits prompts for which there is room. False if all are answered.
  bool has_work() {
    int64_t free = kWatchedPositions;
    for (const Row& row : rows_) free -= row.sequence.capacity();
    while (next_ < prompts_.size()) {
      const auto& [prompt, window] = prompts_[next_];
      Sequence sequence =
          engine_.make_sequence(std::ssize(prompt) + limits_.max_new_tokens + window);
      free -= sequence.capacity();
      if (free < 0 && !rows_.empty()) break;
      sequence.append(prompt);
      rows_.push_back({next_++, std::move(sequence),
                       JacobiDraft(window, {}, Random(0, "jacobi", prompt.size()))});
    }
    return !rows_.empty();
  }

  void run_pass() {
    std::vector<EngineRequest> requests;
    for (Row& row : rows_) {
      const int64_t left = limits_.max_new_tokens - row.result.num_new_tokens;
      requests.push_back(
          {.sequence = &row.sequence, .draft = row.draft.next(row.sequence, limits_, left)});
    }
    const std::vector<EngineResult> results = engine_.run(requests);
    for (size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      row.result.num_forward_passes += results[i].num_forward_passes;
      const bool goes_on = commit_tokens(
          row.sequence, row.draft.take(limits_, *results[i].logits, row.sequence.tokens()), limits_,
          nullptr, row.result);
      row.finished = !goes_on || !has_room(row.sequence, limits_, row.result);
      if (row.finished) keep(row);
    }
    std::erase_if(rows_, [](const Row& row) { return row.finished; });
  }

  /// Runs an unneeded token, only to take part in the others' pass.
  void join_pass() {
    constexpr TokenId kAny = 0;
    Sequence sequence = engine_.make_sequence(1);
    sequence.append({&kAny, 1});
    engine_.run({.sequence = &sequence});
  }

  int64_t num_answered() const { return static_cast<int64_t>(next_ - rows_.size()); }
  std::vector<PromptAnswer> take_answers() { return std::move(answers_); }

 private:
  void keep(const Row& row) {
    const TokenSpan tokens = row.sequence.tokens().subspan(prompts_[row.number].prompt.size());
    answers_[row.number] = {{tokens.begin(), tokens.end()}, row.result.num_forward_passes};
  }

  const std::span<const PromptToAnswer> prompts_;
  const GenerationConfig& limits_;
  Engine engine_;
  std::vector<Row> rows_;
  size_t next_ = 0;  // prompt to begin
  std::vector<PromptAnswer> answers_;
};

}  // namespace

std::vector<PromptAnswer> answer_prompts(const LanguageModel& model,
                                         std::span<const PromptToAnswer> prompts,
                                         const GenerationConfig& limits, Communicator& communicator,
                                         const std::function<void(int64_t)>& on_answered) {
  PassesOfARank own(model, prompts, limits);
  while (true) {
    const bool has_work = own.has_work();
    if (sum_over_ranks(has_work ? 1.0 : 0.0, communicator) == 0) return own.take_answers();
    has_work ? own.run_pass() : own.join_pass();
    on_answered(own.num_answered());
  }
}

namespace {

// Shapes: R records, T tokens of an answer.

void put(const TokenIds& answer, const at::Tensor& row_T) {
  for (size_t i = 0; i < answer.size(); ++i) {
    row_T[static_cast<int64_t>(i)] = answer[i] + 1;
  }
}

std::vector<TokenIds> take(const at::Tensor& rows_RT) {
  std::vector<TokenIds> answers;
  for (int64_t r = 0; r < rows_RT.size(0); ++r) {
    TokenIds answer;
    for (int64_t t = 0; t < rows_RT.size(1); ++t) {
      const auto token = rows_RT[r][t].item<TokenId>();
      if (token > 0) answer.push_back(token - 1);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

double mean_agreement(const std::vector<TokenIds>& a, const std::vector<TokenIds>& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += text_agreement(a[i], b[i]);
  return sum / static_cast<double>(a.size());
}

int64_t num_tokens(const std::vector<TokenIds>& answers) {
  int64_t count = 0;
  for (const TokenIds& answer : answers) count += static_cast<int64_t>(answer.size());
  return count;
}

/// Identifies what two watches must have in common for their answers to be compared.
std::string watched(const std::vector<TokenIds>& prompts, int64_t max_new_tokens) {
  Hasher hasher;
  for (const TokenIds& prompt : prompts) {
    hasher.add({reinterpret_cast<const char*>(prompt.data()), prompt.size() * sizeof(TokenId)});
  }
  return hasher.add(std::to_string(max_new_tokens)).hex();
}

}  // namespace

CollapseWatch::CollapseWatch(const TrainConfig& config, const LanguageModel& model,
                             const at::Device& device, const data::DatasetReader& records,
                             const Tokenizer& tokenizer, Communicator& communicator,
                             int64_t resumed_step)
    : config_(config),
      model_(model),
      device_(device),
      tokenizer_(tokenizer),
      communicator_(communicator) {
  if (records.size() == 0) throw UserError("watch: the dataset has no records");
  const int64_t count = std::min(config.watch.records, records.size());
  for (int64_t i = 0; i < count; ++i) {
    const data::Record record = records.read(i);
    check_ids(record, model.vocab_size());
    if (!record.branches.empty()) {
      throw UserError(
          "watch: the questions of conversation {} stand alone (the law of their dataset): choose "
          "another with watch.dataset, or watch.every=0",
          record.conversation_id);
    }
    if (record.prompt_length < 1 || record.prompt_length >= model.max_positions()) {
      throw UserError(
          "watch: conversation {}, round {} has a prompt of {} tokens, which the model cannot "
          "answer: choose other records with watch.dataset",
          record.conversation_id, record.round, record.prompt_length);
    }
    const auto begin = record.tokens.begin();
    prompts_.emplace_back(begin, begin + record.prompt_length);
    auto target = static_cast<int64_t>(record.tokens.size()) - record.prompt_length;
    if (target == 0) target = config.watch.max_new_tokens;  // a bare prompt does not tell
    mean_target_tokens_ += static_cast<double>(std::min(target, config.watch.max_new_tokens)) /
                           static_cast<double>(count);
  }
  if (communicator.is_main()) {
    log_.emplace(config.output, resumed_step, watched(prompts_, config.watch.max_new_tokens));
  }
}

bool CollapseWatch::is_first() const {
  const bool first = log_ && log_->first_answers().empty();
  return sum_over_ranks(first ? 1.0 : 0.0, communicator_) > 0;
}

std::map<std::string, double> CollapseWatch::run(int64_t step) {
  const Answers answers = generate();
  communicator_.all_reduce({answers.greedy_RT, answers.jacobi_RT, answers.passes_R});
  if (!communicator_.is_main()) return {};
  return judge(step, answers);
}

CollapseWatch::Answers CollapseWatch::generate() const {
  const auto size = static_cast<int64_t>(prompts_.size());
  const int64_t length = config_.watch.max_new_tokens;
  Answers answers{.greedy_RT = at::zeros({size, length}, at::kLong),
                  .jacobi_RT = at::zeros({size, length}, at::kLong),
                  .passes_R = at::zeros({size}, at::kLong)};
  const NoGradScope no_grad;
  const ComputeScope scope(config_.compute, device_);
  std::vector<PromptToAnswer> own;
  for (int64_t r = communicator_.rank(); r < size; r += communicator_.world_size()) {
    const TokenIds& prompt = prompts_[static_cast<size_t>(r)];
    own.push_back({.prompt = prompt, .window = 1});
    own.push_back({.prompt = prompt, .window = config_.watch.block_size});
  }
  std::optional<Progress> progress;
  if (communicator_.is_main()) progress.emplace("watch", "answers", std::ssize(own));
  const std::vector<PromptAnswer> found = answer_prompts(
      model_, own, {.max_new_tokens = length, .stop_tokens = tokenizer_.stop_tokens()},
      communicator_, [&](int64_t num_answered) {
        if (progress) progress->update(num_answered);
      });
  for (size_t i = 0; i < found.size(); i += 2) {
    const int64_t r =
        communicator_.rank() + static_cast<int64_t>(i / 2) * communicator_.world_size();
    put(found[i].tokens, answers.greedy_RT[r]);
    put(found[i + 1].tokens, answers.jacobi_RT[r]);
    answers.passes_R[r] = found[i + 1].num_passes;
  }
  return answers;
}

std::map<std::string, double> CollapseWatch::judge(int64_t step, const Answers& answers) {
  const std::vector<TokenIds> greedy = take(answers.greedy_RT), jacobi = take(answers.jacobi_RT);
  const auto count = static_cast<double>(greedy.size());
  double repeating = 0.0;
  Json lines = Json::array();
  for (const TokenIds& answer : greedy) {
    // A model may write an incomplete character.
    const std::string text = replace_ill_formed_utf8(tokenizer_.decode(answer));
    if (!data::find_repetition(answer, text, {}).empty()) ++repeating;
    lines.push_back({{"token_ids", answer}, {"text", text}});
  }
  Json line{{"step", step}, {"repetition", repeating / count}, {"answers", std::move(lines)}};
  if (log_->first_answers().empty()) {
    Json& prompts = line["prompts"] = Json::array();
    for (const TokenIds& prompt : prompts_) {
      prompts.push_back(replace_ill_formed_utf8(tokenizer_.decode(prompt)));
    }
  }
  std::map<std::string, double> scalars{
      {"watch/tokens_per_pass", static_cast<double>(num_tokens(jacobi)) /
                                    static_cast<double>(answers.passes_R.sum().item<int64_t>())},
      {"watch/jacobi_agreement", mean_agreement(jacobi, greedy)},
      {"watch/repetition", repeating / count},
      {"watch/answer_tokens", static_cast<double>(num_tokens(greedy)) / count}};
  log_->write(std::move(line));
  const std::string why = collapse(scalars);
  scalars["watch/collapsed"] = why.empty() ? 0.0 : 1.0;
  scalars["watch/start_agreement"] = mean_agreement(greedy, log_->first_answers());
  if (!why.empty()) {
    spdlog::warn(
        "step {}: the model collapses: {}; its answers are in {}; go back to an earlier checkpoint "
        "with a lower learning_rate, a higher objective.ar_weight or cleaner data",
        step, why, (config_.output / "watch.jsonl").string());
  }
  return scalars;
}

std::string CollapseWatch::collapse(const std::map<std::string, double>& scalars) const {
  const double repetition = scalars.at("watch/repetition");
  if (repetition >= log_->lowest_repetition() + kRepetitionRise) {
    return fmt::format("{:.0f} % of its answers repeat themselves, {:.0f} % did before",
                       100 * repetition, 100 * log_->lowest_repetition());
  }
  const std::vector<TokenIds>& first = log_->first_answers();
  const double tokens = scalars.at("watch/answer_tokens");
  const double usual = std::min(mean_target_tokens_, static_cast<double>(num_tokens(first)) /
                                                         static_cast<double>(first.size()));
  if (tokens < kShortest * usual) {
    return fmt::format("its answers have {:.1f} tokens, not {:.0f}", tokens, usual);
  }
  return "";
}

}  // namespace predgen::train
