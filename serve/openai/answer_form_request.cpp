#include "serve/openai/answer_form_request.h"

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"

namespace predgen::serve {
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
