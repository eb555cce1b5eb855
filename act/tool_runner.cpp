#include "act/tool_runner.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "text/jinja/python_text.h"

namespace predgen::act {
namespace {

constexpr size_t kMostKnown = 256, kMostBytes = 2048;
constexpr size_t kLeastReplaced = 3;  // bytes: shorter ones are also parts of other words

using Replacements = std::vector<std::pair<std::string, std::string>>;

/// A name as in an id: "Hall Lamp": "hall_lamp".
std::string id_of(std::string name) {
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name;
}

/// As json.dumps() writes it within a text.
std::string escaped(const std::string& text) {
  const std::string quoted = jinja::json_quoted(text, /*is_ascii=*/true);
  return quoted.substr(1, quoted.size() - 2);
}

/// The texts of `before` that are others in `now`, also as ids and as JSON has them.
void collect(const Json& before, const Json& now, Replacements& found) {
  if (before.is_string() && now.is_string()) {
    const auto old = before.get<std::string>(), text = now.get<std::string>();
    if (old == text || old.size() < kLeastReplaced) return;
    found.emplace_back(old, text);
    if (id_of(old) != old) found.emplace_back(id_of(old), id_of(text));
    if (escaped(old) != old) found.emplace_back(escaped(old), escaped(text));
  } else if (before.is_array() && now.is_array()) {
    for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
      collect(before[i], now[i], found);
    }
  } else if (before.is_object() && now.is_object()) {
    for (const auto& [key, value] : before.items()) {
      if (now.contains(key)) collect(value, now[key], found);
    }
  }
}

std::string replaced(const std::string& text, const Replacements& replacements) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto found = std::ranges::find_if(replacements, [&](const auto& one) {
      return text.compare(at, one.first.size(), one.first) == 0;
    });
    if (found == replacements.end()) {
      result += text[at++];
    } else {
      result += found->second;
      at += found->first.size();
    }
  }
  return result;
}

bool have_same_names(const Json& a, const Json& b) {
  for (const auto& [name, value] : a.items()) {
    if (!b.contains(name)) return false;
  }
  return a.size() == b.size();
}

}  // namespace

void ExpectedResults::learn(const std::string& client, const Tool& tool,
                            const std::string& arguments, const std::string& result) {
  if (tool.effects == Effects::kRead) return;
  const std::string canonical = canonical_arguments(arguments);
  Known one{client, tool.server, tool.own_name, Json::parse(canonical), result};
  const Lock lock(mutex_);
  std::erase_if(known_, [&](const Known& other) {
    return other.client == client && other.server == one.server && other.name == one.name &&
           other.arguments == one.arguments;
  });
  if (std::max(canonical.size(), result.size()) > kMostBytes) return;
  known_.push_front(std::move(one));
  if (known_.size() > kMostKnown) known_.pop_back();
}

std::optional<std::string> ExpectedResults::find(const std::string& client, const Tool& tool,
                                                 const std::string& arguments) const {
  if (arguments.size() > kMostBytes) return std::nullopt;
  const Json now = Json::parse(canonical_arguments(arguments));
  const auto likeness = [&](const Known& one) {
    if (one.client != client || one.server != tool.server) return 0;
    if (!have_same_names(one.arguments, now)) return 0;
    if (one.name != tool.own_name) return 1;
    return one.arguments == now ? 3 : 2;
  };
  Known best;
  {
    const Lock lock(mutex_);
    const auto found = std::ranges::max_element(known_, {}, likeness);  // the newest of equals
    if (found == known_.end() || likeness(*found) == 0) return std::nullopt;
    best = *found;
  }
  Replacements replacements;
  collect(best.arguments, now, replacements);
  std::ranges::stable_sort(replacements, std::ranges::greater(),
                           [](const auto& one) { return one.first.size(); });
  std::string guess = replaced(best.result, replacements);
  return guess.size() > kMostBytes ? std::nullopt : std::optional(std::move(guess));
}

std::string to_string(ToolResult::Status status) {
  constexpr std::array kNames{"done", "failed", "timed out", "cancelled", "unavailable"};
  return kNames.at(static_cast<size_t>(status));
}

namespace {

std::string part_text(const Json& part) {
  const auto text_at = [](const Json& object, const char* key) {
    const bool has_text = object.is_object() && object.contains(key) && object[key].is_string();
    return has_text ? object[key].get<std::string>() : std::string();
  };
  const std::string type = text_at(part, "type");
  if (type == "text") return text_at(part, "text");
  if (type == "resource" && part.contains("resource")) {
    const std::string text = text_at(part["resource"], "text");
    return text.empty() ? "[a file that is no text]" : text;
  }
  if (type == "resource_link") return "[a link: " + text_at(part, "uri") + "]";
  return type == "image" || type == "audio" ? "[" + type + "]" : "[something unknown]";
}

}  // namespace

std::string bounded(std::string_view text, size_t most) {
  size_t size = std::min(text.size(), most);
  while (size < text.size() && size > 0 && !begins_character(text[size])) --size;
  std::string kept(text.substr(0, size));
  std::erase_if(kept,
                [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\t') || c == 127; });
  if (size < text.size()) kept += fmt::format("\n[cut: {} more bytes]", text.size() - size);
  return kept;
}

ToolResult read_call_result(const Json& answer, size_t most) {
  std::string text;
  const bool has_parts =
      answer.is_object() && answer.contains("content") && answer["content"].is_array();
  if (has_parts) {
    for (const Json& part : answer["content"]) {
      text = joined(text, "\n", part_text(part));
      if (text.size() > most) break;  // the rest is cut in any case
    }
  }
  if (text.empty() && answer.is_object() && answer.contains("structuredContent")) {
    text = to_text(answer["structuredContent"]);
  }
  const bool is_error = answer.is_object() && answer.value("isError", Json(false)) == Json(true);
  if (is_error) {
    return {ToolResult::Status::kFailed,
            "Error: " + bounded(text.empty() ? "the tool failed and says no more" : text, most)};
  }
  return {ToolResult::Status::kDone, text.empty() ? "Done." : bounded(text, most)};
}

}  // namespace predgen::act
