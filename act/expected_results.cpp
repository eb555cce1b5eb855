#include "act/expected_results.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

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

}  // namespace predgen::act
