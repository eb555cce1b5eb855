#include "data/drop_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen::data {
namespace {

struct DropCause {
  std::string_view name;  // of the counter
  bool of_example;        // an example is dropped, not its row
  std::string_view text;  // "12 of 50 rows were .."
};

constexpr DropCause kCauses[] = {
    {"empty_conversation", false, "dropped: they have no message"},
    {"tool_calls", false, "dropped: they have a function's call or result"},
    {"unknown_role", false, "dropped: they have a role beside system, user and assistant"},
    {"no_text", false,
     "dropped: they have a message without a role or without text, or with parts that are no text"},
    {"broken_text", false, "dropped: they have half a surrogate pair or ill-formed UTF-8"},
    {"wrong_roles", false,
     "dropped: they do not begin with the user, or user and assistant do not take turns"},
    {"empty_message", false, "dropped: they have a blank message"},
    {"min_turns", false, "dropped by filters.min_turns: they have fewer answered questions"},
    {"no_answer", false,
     "dropped: they have no answer, and only law: truncated takes prompts "
     "alone"},
    {"language", false, "dropped by filters.languages: they have another \"language\""},
    {"no_language", false, "dropped by filters.languages: they have no \"language\""},
    {"redacted", false, "dropped by filters.drop_redacted"},
    {"flagged", false, "dropped by filters.drop_flagged"},
    {"max_tokens", true, "dropped by filters.max_tokens: they are longer"},
    {"held_out_exact", true, "dropped by held_out: they have one of its prompts"},
    {"held_out_normalised", true,
     "dropped by held_out: they have one of its prompts but for case and punctuation"},
    {"held_out_near", true, "dropped by held_out: they have one of its prompts but for a word"},
    {"duplicate", false, "dropped: they repeat an earlier row"}};

int64_t number(const Json& counters, const std::string& name) {
  return counters.at(name).get<int64_t>();
}

}  // namespace

std::vector<std::string> drop_names() {
  std::vector<std::string> names;
  for (const DropCause& cause : kCauses) names.emplace_back(cause.name);
  return names;
}

std::vector<std::string> drop_lines(const Json& counters, int64_t examples_per_conversation) {
  const int64_t num_rows = number(counters, "rows_read");
  std::vector<std::pair<int64_t, std::string>> lines;  // with the number of dropped examples
  const auto add = [&](int64_t count, bool of_example, std::string_view text) {
    if (count == 0) return;
    const bool one_by_one = of_example && examples_per_conversation > 1;
    const int64_t examples = of_example ? count : count * examples_per_conversation;
    lines.emplace_back(
        examples, fmt::format("{} of {} {} {} {}", count,
                              one_by_one ? num_rows * examples_per_conversation : num_rows,
                              one_by_one ? "examples" : "rows", count == 1 ? "was" : "were", text));
  };
  add(number(counters, "bad_rows"), false, "skipped (skip_bad_rows): they cannot be read");
  for (const DropCause& cause : kCauses) {
    add(number(counters.at("dropped"), std::string(cause.name)), cause.of_example, cause.text);
  }
  add(number(counters, "held_out_records"), true, "held out by held_out.fraction");
  std::ranges::stable_sort(lines, std::greater<>(), [](const auto& line) { return line.first; });
  std::vector<std::string> texts;
  for (auto& [count, text] : lines) texts.push_back(std::move(text));
  return texts;
}

void report_drops(const Json& counters, const BuildConfig& config,
                  const std::vector<std::filesystem::path>& files) {
  const std::vector<std::string> lines = drop_lines(counters, config.examples_per_conversation);
  std::string name = files.front().string();
  if (files.size() > 1) name += fmt::format(" and {} more", files.size() - 1);
  const int64_t num_records = number(counters, "records");
  const int64_t num_held_out = number(counters, "held_out_records");
  if (num_records == 0) {
    throw UserError("{}: the dataset would be empty: {}", name,
                    lines.empty() ? "there is no row" : fmt::format("{}", fmt::join(lines, "; ")));
  }
  if (config.held_out.fraction > 0 && num_held_out == 0) {
    throw UserError("{}: held_out.fraction: {} holds out none of {} rows: set a larger one, or 0",
                    name, config.held_out.fraction, number(counters, "rows_read"));
  }
  if (const int64_t count = number(counters, "system_messages_replaced"); count > 0) {
    spdlog::warn(
        "{}: {} of {} rows have a system message of their own, which system_prompt: {} {}: "
        "system_prompt=row keeps it",
        name, count, number(counters, "rows_read"), shortened(config.system_prompt),
        config.system_prompt == "none" ? "leaves out" : "replaces");
  }
  const int64_t num_asked = number(counters, "rows_read") * config.examples_per_conversation;
  if (2 * (num_records + num_held_out) >= num_asked) return;
  for (const std::string& line : lines) spdlog::warn("{}: {}", name, line);
}

}  // namespace predgen::data
