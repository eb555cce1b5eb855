#include "serve/openai/completer.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/stop.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/token_constraint.h"
#include "serve/api_error.h"
#include "serve/home_names.h"
#include "serve/new_id.h"
#include "serve/openai/home_answers.h"
#include "serve/openai/server_tools.h"
#include "serve/openai/stop_strings.h"
#include "text/token_ids.h"

namespace predgen::serve {

namespace {

/// What the user said last.
std::string words_of(const std::vector<Message>& messages) {
  const auto said = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const Message& one) { return one.role == "user"; });
  return said == messages.rend() ? "" : said->content;
}

ApiError invalid(const std::string& field, const UserError& error) {
  return ApiError({.param = field, .code = "invalid_value"},
                  fmt::format("invalid value for '{}': {}", field, error.what()));
}

/// Of the chat template: the switch for thinking, and what the request has.
std::string variables(const CompletionRequest& request, const Tokenizer& tokenizer, bool thinks) {
  const std::string own = tokenizer.thinking_switch(request.thinks.value_or(thinks));
  if (own.empty() || request.template_variables.empty()) return own + request.template_variables;
  Json both = Json::parse(own);
  both.update(Json::parse(request.template_variables));
  return both.dump();
}

constexpr size_t kLoopTokens = 16;  // between two checks whether an answer is in a loop

}  // namespace

Completer::Completer(Engine& engine, EngineLock& engine_lock, const Tokenizer& tokenizer,
                     const GenerationDefaults& defaults, const ServeConfig& config,
                     ServeMetrics& metrics, const Clock& clock, GeneratorConfig decoder,
                     PrefixStore* store)
    : engine_(engine),
      engine_lock_(engine_lock),
      tokenizer_(tokenizer),
      defaults_(defaults),
      config_(config),
      metrics_(metrics),
      clock_(clock),
      context_length_(std::min(config.max_context, engine.model().max_positions())),
      decoder_(std::move(decoder)),
      grammars_(tokenizer),
      sessions_(config.max_sessions),
      stores_prefixes_(store != nullptr),
      prefix_cache_(engine, engine_lock, context_length_, config.cached_conversations, store) {
  engine.observe_passes([&](const PassSize& size) {
    metrics_.count_pass(size);
    metrics_.note_pool(engine_.pool());
  });
  engine.on_exhaustion([this] { return prefix_cache_.drop_all(); });
}

std::shared_ptr<const void> Completer::enter(const std::string& client) {
  if (auto session = sessions_.enter(client)) return session;
  throw sessions_.refusal("answers are under way");
}

void Completer::check_tools(const CompletionRequest& request) const {
  if (!request.is_chat() || tokenizer_.tool_format() != ToolFormat::kNone) return;
  const std::string why = "the model's chat template has an unknown form of calls";
  if (!request.tools.empty()) {
    throw ApiError({.param = "tools", .code = "unsupported_value"},
                   "'tools' are not supported: " + why);
  }
  for (const Message& message : std::get<0>(request.prompt)) {
    if (message.role != "tool" && message.tool_calls.empty()) continue;
    throw ApiError({.param = "messages", .code = "unsupported_value"},
                   "'messages' have tool calls, which are not supported: " + why);
  }
}

std::shared_ptr<const Grammar> Completer::grammar(const CompletionRequest& request,
                                                  AnswerStart start) {
  const bool is_required = request.tool_choice.kind == ToolChoice::Kind::kRequired;
  const auto calls = request.forbids_calls ? AnswerRules::Calls::kForbidden
                     : is_required         ? AnswerRules::Calls::kRequired
                                           : AnswerRules::Calls::kAllowed;
  const bool names_home = config_.tools.constrain_names && request.is_chat();
  AnswerRules rules{.form = request.form,
                    .tools = request.tools,
                    .calls = calls,
                    .only_tool = request.tool_choice.only,
                    .has_many_calls = request.has_many_calls,
                    .start = start};
  if (rules.allow_anything()) return nullptr;
  try {
    if (names_home) {
      const auto& messages = std::get<0>(request.prompt);
      // Who requires a call may mean more than was said.
      rules.tools = with_home_names(request.tools, messages, is_required ? "" : words_of(messages));
    }
    if (rules.tools != request.tools) {  // the assistant of a home says no JSON
      const bool is_behind_results = std::get<0>(request.prompt).back().role != "user";
      rules = spoken(std::move(rules), is_behind_results);
      rules.is_passing = true;  // other words name other devices
    }
    return grammars_.compile(rules);
  } catch (const UserError& error) {
    const bool is_of_names = rules.tools != request.tools;
    throw ApiError({.param = request.form ? "response_format" : "tools", .code = "invalid_value"},
                   std::string(error.what()) +
                       (is_of_names ? "; tools.constrain_names adds the names of the home" : ""));
  }
}

TokenIds Completer::prompt_ids(const CompletionRequest& request) const {
  const auto* text = std::get_if<std::string>(&request.prompt);
  const auto* ids = std::get_if<TokenIds>(&request.prompt);
  const std::string field = request.is_chat() ? "messages" : "prompt";
  try {
    TokenIds tokens = ids    ? *ids
                      : text ? tokenizer_.encode(*text)
                             : tokenizer_.render_chat(
                                   std::get<0>(request.prompt), /*add_generation_prompt=*/true,
                                   request.tools, variables(request, tokenizer_, config_.thinks));
    if (tokens.empty()) throw UserError("it has no tokens");
    if (ids) tokenizer_.decode(tokens);  // knows them all
    return tokens;
  } catch (const UserError& error) {
    throw invalid(field, error);
  }
}

int64_t Completer::num_static(const CompletionRequest& request, TokenSpan prompt) const {
  if (!stores_prefixes_ || !request.is_chat()) return 0;
  CompletionRequest other = request;
  auto& messages = std::get<0>(other.prompt);
  messages.erase(std::ranges::find(messages, "user", &Message::role), messages.end());
  if (messages.empty() && request.tools.empty()) return 0;
  messages.push_back({.role = "user", .content = "?"});
  return std::ranges::mismatch(prompt_ids(other), prompt).in2 - prompt.begin();
}

std::vector<TokenIds> Completer::prediction_ids(const CompletionRequest& request) const {
  if (request.prediction.empty()) return {};
  try {
    TokenIds tokens = tokenizer_.encode(request.prediction);
    // Every pass searches it.
    tokens.resize(std::min(tokens.size(), static_cast<size_t>(context_length_)));
    return {tokens};
  } catch (const UserError& error) {
    throw invalid("prediction", error);
  }
}

int64_t Completer::room(const CompletionRequest& request, int64_t length) const {
  const int64_t left = context_length_ - length;
  if (left >= 1) return std::min(left, request.max_tokens.value_or(config_.max_new_tokens));
  throw ApiError(
      {.param = request.is_chat() ? "messages" : "prompt", .code = "context_length_exceeded"},
      fmt::format("the context holds {} tokens, and the prompt alone has {}", context_length_,
                  length));
}

std::optional<SamplingConfig> Completer::sampling(const CompletionRequest& request) const {
  const auto& biases = request.sampling.logit_bias;
  if (!biases.empty() && biases.rbegin()->first >= engine_.model().vocab_size()) {
    throw ApiError({.param = "logit_bias", .code = "invalid_value"},
                   fmt::format("invalid value for 'logit_bias': there is no token {}",
                               biases.rbegin()->first));
  }
  try {
    const auto sampling = choose_sampling(request.sampling, defaults_);
    if (sampling && sampling->temperature > 0 && !defaults_.not_honoured.empty()) {
      throw UserError("the model asks for \"{}\", which sampling does not do",
                      defaults_.not_honoured);
    }
    return sampling;
  } catch (const UserError& error) {
    throw ApiError({.param = "temperature", .code = "invalid_value"}, error.what());
  }
}

Completer::Job Completer::prepare(const CompletionRequest& request, const std::string& client) {
  Job job;
  job.client_ = client;
  job.session_ = enter(client);
  job.begin_ = clock_.now();
  const auto offered = tools_ ? tools_->offer(request, client) : std::nullopt;
  job.has_own_ = offered.has_value();
  job.request_ = offered.value_or(request);
  fill(job, job.request_);
  return job;
}

void Completer::fill(Job& job, const CompletionRequest& request) {
  check_tools(request);
  job.prompt_ = prompt_ids(request);
  job.num_static_ = num_static(request, job.prompt_);
  job.predictions_ = prediction_ids(request);
  job.stop_ = request.stop;
  job.tools_ = request.tools;
  job.has_many_calls_ = request.has_many_calls;
  job.logprobs_ = request.logprobs;
  job.shows_thoughts_ = request.shows_thoughts;
  if (request.is_chat()) job.start_ = answer_start(tokenizer_, job.prompt_);
  job.grammar_ = grammar(request, job.start_);
  // Marks of thoughts within a form are text.
  const bool has_only_form = request.form && request.tools.empty();
  if (has_only_form && job.start_ == AnswerStart::kAnswer) job.start_ = AnswerStart::kText;
  const auto length = std::ssize(job.prompt_);
  job.generation_ = {
      .max_new_tokens = room(request, length),
      .stop_tokens = request.is_chat() ? tokenizer_.stop_tokens() : defaults_.stop_tokens,
      .answer_begin = length};
  job.sampling_ = sampling(request);
}

CompletionResult Completer::complete(const Job& job, int64_t choice, const Sink& sink,
                                     const std::stop_token& stop) {
  const auto once = [&](const CompletionRequest& request, bool is_first, const Sink& to) {
    if (is_first) return complete_once(job, choice, to, stop);
    Job next = job;
    fill(next, request);
    return complete_once(next, choice, to, stop);
  };
  const auto answer = [&](const CompletionRequest& request, bool is_first, const Sink& to) {
    return config_.tools.constrain_names ? answer_of_home(request, is_first, to, once)
                                         : once(request, is_first, to);
  };
  const auto say = [&](const std::string& text) {
    const EngineLock::Hold hold(engine_lock_, job.client_);
    sink.on_text(text);
  };
  return job.has_own_ ? tools_->complete(job.request_, sink, stop, answer, say)
                      : answer(job.request_, true, sink);
}

CompletionResult Completer::complete_once(const Job& job, int64_t choice, const Sink& sink,
                                          const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const EngineLock::Hold hold(engine_lock_, job.client_);
  const auto length = std::ssize(job.prompt_);
  Sequence sequence = prefix_cache_.take(job.client_, job.prompt_);
  CompletionResult result{
      .usage = {.prompt_tokens = length, .cached_tokens = sequence.num_cached()}};
  metrics_.count_prompt(length, result.usage.cached_tokens);

  AnswerReader reader(tokenizer_, SplitMode::kNatural, job.tools_, job.start_);
  StopStrings stop_strings(job.stop_);
  const auto is_whole = [&] {
    return stop_strings.is_found() || (!job.has_many_calls_ && !result.calls.empty());
  };
  bool has_token = false, has_sentence = false;
  const auto take = [&](const AnswerReader::Progress& progress) {
    const Seconds elapsed = clock_.now() - job.begin_;
    if (!std::exchange(has_token, true)) metrics_.observe_first_token(elapsed);
    if (!has_sentence && !progress.sentences.empty()) {
      has_sentence = true;
      metrics_.observe_first_sentence(elapsed);
    }
    if (job.shows_thoughts_ && !progress.thought.empty()) sink.on_thought(progress.thought);
    const std::string text = stop_strings.push(progress.text);
    if (!text.empty()) sink.on_text(text);
    for (ToolCall call : progress.calls) {
      if (is_whole()) break;
      if (const std::string held = stop_strings.finish(); !held.empty()) sink.on_text(held);
      if (call.id.empty()) call.id = new_id("call_");
      sink.on_call(call);
      result.calls.push_back(std::move(call));
    }
  };
  std::optional<TokenScorer> scorer;
  if (job.logprobs_) scorer.emplace(engine_, tokenizer_, *job.logprobs_);
  TokenIds answer;
  bool is_looping = false;
  const bool ends_loops = job.start_ != AnswerStart::kText && !config_.let_repeat;
  // What of the new tokens comes before a loop's end, whatever else the same pass found.
  const auto until_loop = [&](TokenSpan tokens) {
    size_t count = 0;
    while (count < tokens.size() && !is_looping) {
      answer.push_back(tokens[count++]);
      is_looping = ends_loops && answer.size() % kLoopTokens == 0 && ends_in_loop(answer);
    }
    return tokens.first(count);
  };
  GenerationConfig generation = job.generation_;
  if (job.sampling_) {
    generation.sampler = std::make_shared<Sampler>(*job.sampling_, static_cast<uint64_t>(choice));
  }
  if (job.grammar_) {
    generation.constraint = std::make_shared<AnswerConstraint>(
        std::make_shared<GrammarConstraint>(job.grammar_, tokenizer_), generation.stop_tokens,
        tokenizer_.vocab_size());
  }
  generation.should_stop = [&] { return stop.stop_requested() || !sink.is_wanted(); };
  GeneratorConfig decoder = decoder_;
  if (!job.predictions_.empty()) decoder.sources.insert(decoder.sources.begin(), "ngram");
  const GenerationResult generated =
      make_generator(decoder, engine_)
          ->generate(sequence, {.drafts = job.predictions_}, generation, [&](TokenSpan tokens) {
            throw_if_stopped(stop);
            const TokenSpan next = until_loop(tokens);
            if (scorer && !tokens.empty()) {
              std::vector<TokenScore> scores = scorer->score(sequence, std::ssize(tokens));
              const bool is_end = is_stop_token(generation.stop_tokens, tokens.back());
              scores.resize(std::min(next.size(), tokens.size() - (is_end ? 1 : 0)));
              sink.on_scores(std::move(scores));
            }
            take(reader.push(next));
            return !is_looping && sink.is_wanted() && !is_whole();
          });
  throw_if_stopped(stop);
  take(reader.finish());
  if (const std::string held = stop_strings.finish(); !held.empty()) sink.on_text(held);
  result.is_cut = is_looping || generated.stop_reason == StopReason::kMaxNewTokens ||
                  generated.stop_reason == StopReason::kCacheFull;
  result.usage.completion_tokens = std::ssize(answer);
  result.usage.thought_tokens = reader.num_thought_tokens();
  if (!job.predictions_.empty()) {
    result.usage.accepted_tokens = generated.num_accepted;
    result.usage.rejected_tokens = generated.num_checked - generated.num_accepted;
  }
  metrics_.count_generated(generated.num_new_tokens);
  prefix_cache_.keep(job.client_, std::move(sequence), job.num_static_);
  metrics_.note_pool(engine_.pool());
  return result;
}

}  // namespace predgen::serve
