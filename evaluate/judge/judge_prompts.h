#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::evaluate {

/// What the judge is sent.
struct JudgeRequest {
  std::string system, user;  // system may be empty
};

/// Prompts in the layout of FastChat's judge_prompts.jsonl: rows with "type", "system_prompt" and
/// "prompt_template", a text with places such as {question}; "{{" is "{".
class JudgePrompts {
 public:
  /// UserError names the file and the row.
  explicit JudgePrompts(const std::filesystem::path& file);

  using Fields = std::map<std::string, std::string>;
  /// The first prompt of the type ("single", "pairwise") with exactly the places in `fields`.
  /// UserError if there is none.
  JudgeRequest fill(const std::string& type, const Fields& fields) const;

 private:
  struct Prompt {
    std::string type, system_prompt, prompt_template;
    Fields places;  // name -> empty
  };
  std::filesystem::path file_;
  std::vector<Prompt> prompts_;
};

/// "[[7]]" or, if there is none, "[7]", as FastChat reads it; nullopt if it is not from 1 to 10.
std::optional<double> find_grade(std::string_view reply);

/// Whose answer "[[A]]", "[[B]]" or "[[C]]" (neither's) prefers: 'A', 'B' or 'C'.
std::optional<char> find_preference(std::string_view reply);

}  // namespace predgen::evaluate
