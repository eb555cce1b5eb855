#include "serve/openai/request_parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace predgen::serve {
namespace {

const std::vector<Endpoint> kBoth{Endpoint::kChat, Endpoint::kCompletions};
const std::vector<Endpoint> kChats{Endpoint::kChat};
const std::vector<Endpoint> kTexts{Endpoint::kCompletions};
constexpr auto kHonoured = Taking::kHonoured;
constexpr auto kIgnored = Taking::kIgnored;
constexpr auto kRefused = Taking::kRefused;

bool is_empty(const Json& value) {
  return value == false || value == "" ||
         ((value.is_object() || value.is_array()) && value.empty());
}

bool asks_for_nothing(const Json& value, const RequestParameters& parameters) {
  if (value.is_null() || (!parameters.is_empty_a_wish && is_empty(value))) return true;
  return std::ranges::any_of(parameters.neutral, [&](const Json& one) { return one == value; });
}

bool is_for(const RequestParameters& parameters, Endpoint endpoint) {
  return std::ranges::count(parameters.endpoints, endpoint) > 0;
}

}  // namespace

const std::vector<RequestParameters>& request_parameters() {
  static const std::vector<RequestParameters> kTable{
      {{"model"}, kBoth, kHonoured, "must be the server's model"},
      {{"messages"},
       kChats,
       kHonoured,
       "roles system, developer, user, assistant, tool; content as a text or as parts `text`, "
       "`input_text`, `output_text`, `refusal`, or null in an assistant's message; thoughts of "
       "earlier answers as `reasoning_content` or `reasoning`"},
      {{"prompt"}, kTexts, kHonoured, "one text, or one list of token ids"},
      {{"max_tokens", "max_completion_tokens", "n_predict", "num_predict"},
       kBoth,
       kHonoured,
       "tokens of the answer; a negative number, or more than fits: all that the context holds. "
       "Without it `max_new_tokens` of the configuration for a chat, 16 for a completion"},
      {{"temperature", "top_p", "top_k", "min_p"},
       kBoth,
       kHonoured,
       "sampling; without any of them, or with `temperature` or `top_p` 0, the answer is greedy. "
       "`top_k` 0 and -1: all tokens"},
      {{"frequency_penalty", "presence_penalty"},
       kBoth,
       kHonoured,
       "-2 to 2; subtracted from the logits of tokens that the answer has so far, for each time or "
       "once"},
      {{"repetition_penalty", "repeat_penalty"},
       kBoth,
       kHonoured,
       "0.01 to 100; divides the positive logits of tokens that the prompt or the answer has, and "
       "multiplies the negative ones"},
      {{"repeat_last_n"},
       kBoth,
       kHonoured,
       "the penalties look at this many last tokens only; -1: at all tokens"},
      {{"logit_bias"},
       kBoth,
       kHonoured,
       "token ids and what is added to their logits, -100 to 100"},
      {{"seed", "random_seed"},
       kBoth,
       kHonoured,
       "the same seed gives the same draws; each choice has its own"},
      {{"n"}, kBoth, kHonoured, "1 to 128 answers, one after the other; `usage` has their sum"},
      {{"stop"}, kBoth, kHonoured, "up to 256 texts that end an answer; empty ones are ignored"},
      {{"stream", "stream_options"}, kBoth, kHonoured, "`include_usage` of the latter"},
      {{"logprobs"}, kBoth, kHonoured, "in a chat true or false, in a completion 0 to 5"},
      {{"top_logprobs"}, kChats, kHonoured, "0 to 20, with `logprobs`"},
      {{"prediction"}, kBoth, kHonoured, "what the answer may say; it changes no text"},
      {{"tools", "parallel_tool_calls"},
       kChats,
       kHonoured,
       "functions of the client. No call is malformed; with `strict` its arguments hold to all "
       "that the schema says, or the request is refused, else what no grammar can say is left to "
       "the model"},
      {{"tool_choice"}, kChats, kHonoured, "auto, none, required (any), or a function by its name"},
      {{"response_format"},
       kBoth,
       kHonoured,
       "`text`, `json_object` or `json_schema`. What no grammar can say is refused by name, unless "
       "`strict` is false: then it is left to the model"},
      {{"format", "grammar", "json_schema", "guided_json", "guided_regex", "guided_choice",
        "guided_grammar", "structured_outputs"},
       kBoth,
       kHonoured,
       "other servers' names for the form of an answer: a JSON schema, a regular expression, a "
       "grammar as GBNF has it, or one of some texts; one of them in a request"},
      {{"reasoning_effort", "reasoning", "enable_thinking", "thinking", "think", "thinking_budget",
        "reasoning_budget"},
       kChats,
       kHonoured,
       "whether the model thinks before it answers, if its template has a switch for that: "
       "`none`, `minimal`, false, `disabled` or `{\"enabled\": false}`, or another effort, true, "
       "`enabled`; how long it thinks is a wish, but a budget of 0 means not at all"},
      {{"chat_template_kwargs"},
       kChats,
       kHonoured,
       "variables of the model's chat template, such as `enable_thinking`"},
      {{"include_reasoning"}, kChats, kHonoured, "false: thoughts are not sent"},
      {{"options", "extra_body"}, kBoth, kHonoured, "their fields count as the request's own"},
      {{"user", "metadata", "store", "service_tier", "safety_identifier", "verbosity", "priority",
        "request_id", "keep_alive", "ttl"},
       kBoth,
       kIgnored,
       "for bills, logs and queues of other servers; `verbosity` is a wish"},
      {{"prompt_cache_key", "prompt_cache_retention", "cache_prompt", "cache_salt", "id_slot",
        "slot_id", "n_cache_reuse"},
       kBoth,
       kIgnored,
       "hints about caches; predgen keeps its own"},
      {{"num_ctx", "n_ctx", "num_keep", "n_keep", "num_batch", "num_gpu", "main_gpu", "num_thread",
        "use_mmap", "use_mlock", "low_vram", "numa", "f16_kv", "vocab_only", "draft_model"},
       kBoth,
       kIgnored,
       "how another server is to load and run a model"},
      {{"timings_per_token", "return_progress", "mirostat_tau", "mirostat_eta", "xtc_threshold",
        "dry_base", "dry_allowed_length", "dry_sequence_breakers", "dry_penalty_last_n",
        "dynatemp_exponent", "min_keep"},
       kBoth,
       kIgnored,
       "no effect on an answer without one that is refused below"},
      {{"audio", "mm_processor_kwargs"}, kChats, kIgnored, "no effect on answers in text"},
      {{"modalities"}, kChats, kRefused, "answers are text", {Json::array({"text"})}},
      {{"functions", "function_call"},
       kChats,
       kRefused,
       "OpenAI's old names: send `tools`",
       {"auto", "none"}},
      {{"web_search_options"},
       kChats,
       kRefused,
       "nothing is searched",
       {},
       /*is_empty_a_wish=*/true},
      {{"system", "instructions"}, kChats, kRefused, "send a message with the role system"},
      {{"chat_template", "template", "documents", "continue_final_message"},
       kChats,
       kRefused,
       "the model's own template is run, and begins a new answer"},
      {{"add_generation_prompt", "skip_special_tokens"},
       kBoth,
       kRefused,
       "this is how it is always done",
       {Json(true)},
       /*is_empty_a_wish=*/true},
      {{"typical_p", "typ_p", "tfs_z", "length_penalty"},
       kBoth,
       kRefused,
       "other ways to draw",
       {Json(1)}},
      {{"mirostat", "xtc_probability", "dry_multiplier", "dynatemp_range", "top_a",
        "epsilon_cutoff", "eta_cutoff", "no_repeat_ngram_size", "min_tokens", "n_probs"},
       kBoth,
       kRefused,
       "other ways to draw, or to show draws",
       {Json(0)}},
      {{"top_n_sigma", "truncate_prompt_tokens"},
       kBoth,
       kRefused,
       "other ways to draw, or to cut",
       {Json(-1)}},
      {{"reasoning_format"},
       kChats,
       kRefused,
       "thoughts are sent as `reasoning_content`",
       {"auto", "parsed", "deepseek"}},
      {{"samplers", "use_beam_search", "ignore_eos", "bad_words", "allowed_token_ids",
        "stop_token_ids", "logits_processors", "include_stop_str_in_output", "prompt_logprobs",
        "post_sampling_probs", "lora"},
       kBoth,
       kRefused,
       "other ways to draw, to end an answer, or to show draws"},
      {{"best_of"}, kTexts, kRefused, "all answers are sent", {Json(1)}},
      {{"tools"}, kTexts, kRefused, "functions are for chats"},
      {{"echo", "suffix"}, kTexts, kRefused, "only what follows the prompt is sent"},
  };
  return kTable;
}

void read_by_table(RequestFields& fields, Endpoint endpoint) {
  for (const RequestParameters& parameters : request_parameters()) {
    if (!is_for(parameters, endpoint) || parameters.taking == Taking::kHonoured) continue;
    for (const std::string& name : parameters.names) {
      const Json& value = fields.any(name);
      if (parameters.taking == Taking::kIgnored || asks_for_nothing(value, parameters)) continue;
      const std::string only =
          parameters.neutral.empty()
              ? "is not supported"
              : fmt::format("is supported as {} only", parameters.neutral.front().dump());
      RequestFields::fail_unsupported(fields.full_name(name),
                                      fmt::format("{}: {}", only, parameters.meaning));
    }
  }
}

std::string parameter_table() {
  std::string text = "| parameters | of | what becomes of them |\n| --- | --- | --- |\n";
  for (const RequestParameters& parameters : request_parameters()) {
    std::string names, neutral;
    for (const std::string& name : parameters.names) {
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
    }
    for (const Json& value : parameters.neutral) {
      neutral += fmt::format("{}`{}`", neutral.empty() ? "" : ", ", value.dump());
    }
    const bool is_refused = parameters.taking == Taking::kRefused;
    const std::string what = parameters.taking == Taking::kIgnored ? "ignored: "
                             : !is_refused                         ? ""
                             : neutral.empty()                     ? "refused: "
                                               : fmt::format("refused unless {}: ", neutral);
    const bool is_both = parameters.endpoints.size() == 2;
    const char* of = is_both ? "both" : is_for(parameters, Endpoint::kChat) ? "chat" : "completion";
    text += fmt::format("| {} | {} | {}{} |\n", names, of, what, parameters.meaning);
  }
  return text;
}

}  // namespace predgen::serve
