#include "evaluate/judge/judge_prompts.h"

#include <charconv>

#include "core/error.h"
#include "evaluate/json_rows.h"
#include "text/regex.h"

namespace predgen::evaluate {
namespace {

/// `text` with its {places} filled; places that `fields` lacks are added to it, empty.
std::string fill_places(std::string_view text, JudgePrompts::Fields& fields) {
  std::string filled;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] != '{' && text[i] != '}') {
      filled += text[i];
    } else if (doubled) {
      filled += text[i++];
    } else {
      const size_t end = text.find('}', i);
      if (text[i] == '}' || end == std::string_view::npos) {
        throw UserError("a brace without its partner; write {{{{ or }}}} for the character");
      }
      filled += fields[std::string(text.substr(i + 1, end - i - 1))];
      i = end;
    }
  }
  return filled;
}

bool same_names(const JudgePrompts::Fields& a, const JudgePrompts::Fields& b) {
  const auto same = [](const auto& x, const auto& y) { return x.first == y.first; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

JudgePrompts::JudgePrompts(const std::filesystem::path& file) : file_(file) {
  for_each_row(file, [&](const Json& row, const std::string& where) {
    Prompt prompt{json_get<std::string>(row, "type", where),
                  json_get<std::string>(row, "system_prompt", where),
                  json_get<std::string>(row, "prompt_template", where),
                  {}};
    try {
      fill_places(prompt.prompt_template, prompt.places);
    } catch (const UserError& error) {
      throw UserError("{}: \"prompt_template\" has {}", where, error.what());
    }
    prompts_.push_back(std::move(prompt));
  });
}

JudgeRequest JudgePrompts::fill(const std::string& type, const Fields& fields) const {
  for (const Prompt& prompt : prompts_) {
    if (prompt.type != type || !same_names(prompt.places, fields)) continue;
    Fields given = fields;
    return {prompt.system_prompt, fill_places(prompt.prompt_template, given)};
  }
  std::string names;
  for (const auto& [name, unused] : fields) names += " {" + name + "}";
  throw UserError("{}: has no prompt of the type \"{}\" with the places{}", file_.string(), type,
                  names);
}

std::optional<double> find_grade(std::string_view reply) {
  const auto pattern = [](const char* text) {
    return Regex(text, Regex::Syntax::kPython, "judge");
  };
  static const Regex doubled = pattern(R"(\[\[[0-9]+\.?[0-9]*\]\])");
  static const Regex single = pattern(R"(\[[0-9]+\.?[0-9]*\])");
  Regex::Match match;
  if (!doubled.find(reply, 0, match) && !single.find(reply, 0, match)) return std::nullopt;
  const size_t begin = reply.find_first_not_of('[', match.begin);
  double grade = 0;
  std::from_chars(reply.data() + begin, reply.data() + match.end, grade);
  return grade >= 1 && grade <= 10 ? std::optional(grade) : std::nullopt;
}

std::optional<char> find_preference(std::string_view reply) {
  for (const char* mark : {"[[A]]", "[[B]]", "[[C]]"}) {
    if (reply.find(mark) != std::string_view::npos) return mark[2];
  }
  return std::nullopt;
}

}  // namespace predgen::evaluate
