#include "serve/openai/completion_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "serve/openai/chat_messages.h"
#include "serve/openai/request_parameters.h"
#include "serve/request_fields.h"

namespace predgen::serve {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kDefaultCompletionTokens = 16;
constexpr size_t kMaxStops = 256;     // each is looked for after every token
constexpr int64_t kMaxChoices = 128;  // as OpenAI has it
constexpr double kMaxBias = 100;
constexpr int64_t kMaxLogprobs = 20, kMaxCompletionLogprobs = 5;  // as OpenAI has it

void read_prompt(const Json& prompt, CompletionRequest& request) {
  // A single prompt may be in a list.
  const bool is_listed = prompt.is_array() && prompt.size() == 1 && !prompt[0].is_number();
  const Json& one = is_listed ? prompt[0] : prompt;
  const auto is_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<uint64_t>() <= std::numeric_limits<TokenId>::max();
  };
  if (one.is_string()) {
    request.prompt = one.get<std::string>();
  } else if (one.is_array() && !one.empty() && std::all_of(one.begin(), one.end(), is_id)) {
    request.prompt = one.get<TokenIds>();
  } else {
    RequestFields::fail_value("prompt", "must be one text, or one list of token ids");
  }
}

std::vector<std::string> read_stop(const Json& stop) {
  std::vector<std::string> strings;
  if (stop.is_null()) return strings;
  for (const Json& one : stop.is_array() ? stop : Json::array({stop})) {
    if (!one.is_string()) RequestFields::fail_type("stop", "a string or a list of strings", one);
    if (one != "") strings.push_back(one.get<std::string>());
  }
  if (strings.size() > kMaxStops) {
    RequestFields::fail_value("stop", fmt::format("must be at most {} strings", kMaxStops));
  }
  return strings;
}

std::map<TokenId, double> read_logit_bias(const Json& biases) {
  std::map<TokenId, double> read;
  if (biases.is_null()) return read;
  if (!biases.is_object()) RequestFields::fail_type("logit_bias", "an object", biases);
  for (const auto& [token, bias] : biases.items()) {
    TokenId id = 0;
    const char* const end = token.data() + token.size();
    const auto number = std::from_chars(token.data(), end, id);
    if (number.ec != std::errc() || number.ptr != end || id < 0) {
      RequestFields::fail_value("logit_bias", "its keys must be ids of tokens");
    }
    if (!bias.is_number()) RequestFields::fail_type("logit_bias", "numbers", bias);
    read[id] = bias.get<double>();
    if (!(std::abs(read[id]) <= kMaxBias)) {
      RequestFields::fail_value("logit_bias", "its numbers must be from -100 to 100");
    }
  }
  return read;
}

std::string read_prediction(const Json& prediction) {
  if (prediction.is_null()) return {};
  if (!prediction.is_object()) RequestFields::fail_type("prediction", "an object", prediction);
  if (prediction.value("type", Json()) != "content") {
    RequestFields::fail_value("prediction.type", R"(must be "content")");
  }
  return read_content(prediction.value("content", Json()), "prediction.content");
}

void read_sampling(RequestFields& fields, AskedSampling& into) {
  fields.alias("repetition_penalty", "repeat_penalty");
  fields.numbers(settings_of(into));
  if (into.top_k == -1) into.top_k = 0;
  into.penalty_window = fields.integer("repeat_last_n", -1, kAny);
  into.logit_bias = read_logit_bias(fields.any("logit_bias"));
  fields.alias("seed", "random_seed");
  const std::optional<uint64_t> seed = fields.seed("seed");
  into.seed = seed ? *seed : std::random_device()();
}

/// Fields that both kinds of requests have.
void read_common(RequestFields& fields, Endpoint endpoint, CompletionRequest& request) {
  fields.merge("options");
  fields.merge("extra_body");
  request.model = *fields.text("model", /*required=*/true);
  for (const char* other : {"n_predict", "num_predict"}) fields.alias("max_tokens", other);
  request.max_tokens = fields.limit("max_tokens");
  if (const auto newer = fields.limit("max_completion_tokens")) request.max_tokens = newer;
  request.num_choices = fields.integer("n", 1, kMaxChoices).value_or(1);
  request.stop = read_stop(fields.any("stop"));
  read_sampling(fields, request.sampling);
  request.prediction = read_prediction(fields.any("prediction"));
  request.stream = fields.flag("stream");
  request.include_usage = fields.object("stream_options").flag("include_usage");
  request.form = read_answer_form(fields);
  read_by_table(fields, endpoint);
}

/// Whether an effort to think is one at all; nullopt: the client leaves it to the server.
std::optional<bool> is_effort(const Json& effort, const std::string& where) {
  if (effort.is_null() || effort == "" || effort == "auto" || effort == "default")
    return std::nullopt;
  if (effort == "none" || effort == "minimal") return false;
  for (const char* some : {"low", "medium", "high", "xhigh", "max"}) {
    if (effort == some) return true;
  }
  RequestFields::fail_value(where, "must be none, minimal, low, medium, high, xhigh or max");
}

/// A flag, or an effort.
std::optional<bool> flag_or_effort(RequestFields& fields, const char* name) {
  const Json& value = fields.any(name);
  if (value.is_boolean()) return value.get<bool>();
  return is_effort(value, fields.full_name(name));
}

/// What the APIs of Anthropic and others call thinking: {"type": "enabled" or "disabled"}.
std::optional<bool> read_thinking(RequestFields& fields) {
  const Json& value = fields.any("thinking");
  if (!value.is_object()) return flag_or_effort(fields, "thinking");
  const std::string type = fields.object("thinking").text("type").value_or("enabled");
  if (type == "enabled" || type == "disabled") return type == "enabled";
  if (type == "adaptive" || type == "auto") return std::nullopt;
  RequestFields::fail_value("thinking.type", "must be enabled, disabled or adaptive");
}

/// The field `reasoning` as OpenRouter and the Responses API have it.
std::optional<bool> read_reasoning(RequestFields& fields, CompletionRequest& request) {
  RequestFields reasoning = fields.object("reasoning");
  if (reasoning.flag("exclude")) request.shows_thoughts = false;
  const std::optional<bool> effort = flag_or_effort(reasoning, "effort");
  if (reasoning.any("enabled").is_null()) return effort;
  return reasoning.flag("enabled");
}

/// A budget of tokens to think: none is no; others are wishes.
std::optional<bool> read_budget(RequestFields& fields, const char* name) {
  return fields.integer(name, std::numeric_limits<int64_t>::min(), kAny) == 0 ? std::optional(false)
                                                                              : std::nullopt;
}

void read_thoughts(RequestFields& fields, CompletionRequest& request) {
  const std::optional<bool> wishes[] = {flag_or_effort(fields, "enable_thinking"),
                                        flag_or_effort(fields, "think"),
                                        read_thinking(fields),
                                        read_reasoning(fields, request),
                                        flag_or_effort(fields, "reasoning_effort"),
                                        read_budget(fields, "thinking_budget"),
                                        read_budget(fields, "reasoning_budget")};
  for (const std::optional<bool>& wish : wishes) {
    if (!request.thinks) request.thinks = wish;
  }
  const bool is_asked = !fields.any("include_reasoning").is_null();
  if (is_asked && !fields.flag("include_reasoning")) request.shows_thoughts = false;
  const Json& variables = fields.any("chat_template_kwargs");
  if (variables.is_null()) return;
  if (!variables.is_object())
    RequestFields::fail_type("chat_template_kwargs", "an object", variables);
  for (const char* own : {"messages", "tools", "documents", "add_generation_prompt",
                          "continue_final_message", "chat_template", "bos_token", "eos_token"}) {
    if (!variables.contains(own)) continue;
    RequestFields::fail_unsupported(fmt::format("chat_template_kwargs.{}", own),
                                    "is not for clients to set");
  }
  if (!variables.empty()) request.template_variables = variables.dump();
}

}  // namespace

CompletionRequest parse_chat_request(std::string_view body) {
  RequestFields fields(body);
  CompletionRequest request;
  read_common(fields, Endpoint::kChat, request);
  request.prompt = read_messages(fields.any("messages", /*required=*/true));
  const auto top = fields.integer("top_logprobs", 0, kMaxLogprobs);
  if (fields.flag("logprobs")) {
    request.logprobs = top.value_or(0);
  } else if (top.value_or(0) > 0) {
    RequestFields::fail_value("top_logprobs", "needs logprobs");
  }
  read_thoughts(fields, request);
  const std::optional<ToolSet> tools = read_tools(fields, ToolShape::kNested);
  request.tool_choice = read_tool_choice(fields).value_or(ToolChoice());
  const bool may_call = request.tool_choice.kind != ToolChoice::Kind::kNone;
  if (may_call) request.tools = tools.value_or(ToolSet());
  check_tool_choice(request.tool_choice, request.tools, "tool_choice");
  const bool is_asked = !fields.any("parallel_tool_calls").is_null();
  if (is_asked) request.has_many_calls = fields.flag("parallel_tool_calls");
  request.ignored = fields.not_known();
  return request;
}

CompletionRequest parse_completion_request(std::string_view body) {
  RequestFields fields(body);
  CompletionRequest request;
  read_common(fields, Endpoint::kCompletions, request);
  read_prompt(fields.any("prompt", /*required=*/true), request);
  if (!request.max_tokens) request.max_tokens = kDefaultCompletionTokens;
  request.logprobs = fields.integer("logprobs", 0, kMaxCompletionLogprobs);
  request.ignored = fields.not_known();
  return request;
}

namespace {

using Kind = AnswerForm::Kind;

AnswerForm schema_form(const Json& schema, const std::string& name, bool is_strict = true) {
  if (!schema.is_object()) RequestFields::fail_type(name, "a JSON schema", schema);
  return {.kind = Kind::kJsonSchema,
          .text = schema.dump(),
          .name = "'" + name + "'",
          .is_strict = is_strict};
}

AnswerForm any_object(const std::string& name) {
  return schema_form({{"type", "object"}}, name, /*is_strict=*/false);
}

AnswerForm text_form(Kind kind, const Json& text, const std::string& name) {
  if (!text.is_string() || text.get<std::string>().empty()) {
    RequestFields::fail_type(name, "a text", text);
  }
  return {.kind = kind, .text = text.get<std::string>(), .name = "'" + name + "'"};
}

/// One of some texts.
AnswerForm choice_form(const Json& choices, const std::string& name) {
  if (!choices.is_array() || choices.empty()) {
    RequestFields::fail_type(name, "a list of texts", choices);
  }
  std::string grammar;
  for (const Json& choice : choices) {
    if (!choice.is_string()) RequestFields::fail_type(name, "a list of texts", choice);
    // JSON's escapes of a text are those of a grammar.
    grammar += (grammar.empty() ? "root ::= " : " | ") + choice.dump();
  }
  return {.kind = Kind::kEbnf, .text = grammar, .name = "'" + name + "'"};
}

/// A schema, or the same as a text.
AnswerForm json_form(const Json& schema, const std::string& name) {
  if (!schema.is_string()) return schema_form(schema, name);
  try {
    return schema_form(parse_json(schema.get<std::string>(), name), name);
  } catch (const UserError& error) {
    RequestFields::fail_value(name, error.what());
  }
}

std::optional<AnswerForm> response_format(RequestFields& fields) {
  if (fields.any("response_format").is_null()) return std::nullopt;
  RequestFields format = fields.object("response_format");
  const std::string type = format.text("type", /*required=*/true).value();
  const std::string where = format.full_name("type");
  if (type == "text") return std::nullopt;
  if (type == "json_object") {
    const Json& schema = format.any("schema");  // llama.cpp has it here
    return schema.is_null() ? any_object("response_format")
                            : schema_form(schema, format.full_name("schema"));
  }
  if (type != "json_schema") {
    RequestFields::fail_unsupported(where, "is supported as text, json_object and json_schema");
  }
  format.any("json_schema", /*required=*/true);
  RequestFields described = format.object("json_schema");
  described.ignore("name");
  described.ignore("description");
  const Json& schema = described.any("schema", /*required=*/true);
  const bool is_loose = described.any("strict") == false;
  return schema_form(schema, described.full_name("schema"), !is_loose);
}

/// vLLM's, today: an object with one of the forms.
std::optional<AnswerForm> structured_outputs(RequestFields& fields) {
  if (fields.any("structured_outputs").is_null()) return std::nullopt;
  RequestFields outputs = fields.object("structured_outputs");
  std::optional<AnswerForm> form;
  const auto take = [&](const char* name, auto make) {
    const Json& value = outputs.any(name);
    if (!value.is_null() && value != false) form = make(value, outputs.full_name(name));
  };
  take("json", json_form);
  take("regex", [](const Json& value, const std::string& name) {
    return text_form(Kind::kRegex, value, name);
  });
  take("choice", choice_form);
  take("grammar", [](const Json& value, const std::string& name) {
    return text_form(Kind::kEbnf, value, name);
  });
  take("json_object", [](const Json&, const std::string& name) { return any_object(name); });
  outputs.finish();
  return form;
}

bool is_absent(const Json& value) {
  return value.is_null() || value == "" || value == false || (value.is_object() && value.empty());
}

}  // namespace

std::optional<AnswerForm> read_answer_form(RequestFields& fields) {
  std::vector<std::pair<std::string, AnswerForm>> found;
  const auto add = [&](const std::string& name, std::optional<AnswerForm> form) {
    if (form) found.emplace_back(fields.full_name(name), std::move(*form));
  };
  const auto read = [&](const std::string& name, auto make) {
    const Json& value = fields.any(name);
    if (!is_absent(value)) add(name, make(value, fields.full_name(name)));
  };
  const auto of_kind = [](Kind kind) {
    return
        [kind](const Json& value, const std::string& name) { return text_form(kind, value, name); };
  };
  add("response_format", response_format(fields));
  read("format", [](const Json& value, const std::string& name) {
    return value == "json" ? any_object(name) : schema_form(value, name);
  });
  read("json_schema", json_form);
  read("guided_json", json_form);
  read("guided_choice", choice_form);
  read("guided_regex", of_kind(Kind::kRegex));
  read("guided_grammar", of_kind(Kind::kEbnf));
  read("grammar", of_kind(Kind::kEbnf));
  add("structured_outputs", structured_outputs(fields));
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    RequestFields::fail_value(found[1].first, "cannot be beside '" + found[0].first + "'");
  }
  return std::move(found.front().second);
}

}  // namespace predgen::serve
