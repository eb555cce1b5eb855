#include "serve/home_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "serve/meant_devices.h"

namespace predgen::serve {
namespace {

constexpr size_t kMostNames = 1024;
constexpr int64_t kMostPlaces = int64_t{1} << 17;  // for names, in all functions
constexpr std::string_view kItem = "- ", kIndent = "  ", kContinued = "    ";

/// A scalar of YAML, on one line, as a text.
std::string unquoted(const std::string& scalar) {
  const auto is_in = [&](char quote) {
    return scalar.size() > 1 && scalar.front() == quote && scalar.back() == quote;
  };
  if (is_in('"')) {
    try {
      return parse_json(scalar, "a name").get<std::string>();
    } catch (const UserError&) {  // escapes that JSON does not have
      return scalar.substr(1, scalar.size() - 2);
    }
  }
  if (!is_in('\'')) return scalar;
  std::string text = scalar.substr(1, scalar.size() - 2);
  for (size_t at = text.find("''"); at != std::string::npos; at = text.find("''", at + 1)) {
    text.erase(at, 1);
  }
  return text;
}

/// Each text once.
void add(const std::string& text, std::vector<std::string>& texts) {
  if (text.empty() || std::ranges::find(texts, text) != texts.end()) return;
  texts.push_back(text);
}

/// The texts between commas.
std::vector<std::string> listed(const std::string& scalar) {
  constexpr std::string_view kComma = ", ";
  const std::string text = unquoted(scalar);
  std::vector<std::string> texts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(kComma, begin), text.size());
    add(text.substr(begin, end - begin), texts);
    begin = end + kComma.size();
  }
  return texts;
}

std::string_view line_at(std::string_view text, size_t begin) {
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

/// The name of one of Home Assistant's functions, without that of its API, which several APIs
/// together put in front; empty: it is another's.
std::string_view own_name(std::string_view function) {
  if (const size_t api = function.rfind("__"); api != std::string_view::npos) {
    function.remove_prefix(api + 2);
  }
  return function == "GetLiveContext" || function.starts_with("Hass") ? function : "";
}

/// Whether a function is for devices of a domain.
bool is_for(std::string_view function, const std::string& domain) {
  const auto is_any = [&](std::initializer_list<std::string_view> domains) {
    return std::ranges::find(domains, domain) != domains.end();
  };
  if (function == "GetLiveContext" || domain.empty()) return true;
  if (function == "HassLightSet") return domain == "light";
  if (function == "HassFanSetSpeed") return domain == "fan";
  if (function.starts_with("HassClimate")) return domain == "climate";
  if (function.starts_with("HassHumidifier")) return domain == "humidifier";
  if (function.starts_with("HassVacuum")) return domain == "vacuum";
  if (function.starts_with("HassLawnMower")) return domain == "lawn_mower";
  if (function.starts_with("HassList")) return domain == "todo";
  if (function == "HassSetPosition" || function == "HassStopMoving") {
    return is_any({"cover", "valve"});
  }
  if (function.starts_with("HassMedia") || function.starts_with("HassSetVolume")) {
    return domain == "media_player";
  }
  // The rest can be switched on and off.
  return !only_tells(domain) && !is_any({"todo", "calendar", "vacuum", "lawn_mower"});
}

/// What the devices that a function is for are called.
struct Names {
  std::vector<std::string> unique{}, shared{};  // of one device, of several
  std::vector<std::string> areas{}, shared_areas{}, domains{};
};

Names names_for(std::string_view function, const MeantDevices& meant,
                const std::vector<HomeDevice>& home) {
  Names names;
  for (const HomeDevice& device : meant.devices) {
    if (!is_for(function, device.domain)) continue;
    for (const std::string& name : meant.is_kind ? std::vector<std::string>() : device.names) {
      const bool is_shared =
          std::ranges::count_if(home, [&](const HomeDevice& other) {
            return is_for(function, other.domain) && std::ranges::count(other.names, name) > 0;
          }) > 1;
      add(name, is_shared && !device.areas.empty() ? names.shared : names.unique);
      if (!is_shared) continue;
      for (const std::string& area : device.areas) add(area, names.shared_areas);
    }
    for (const std::string& area : device.areas) {
      if (std::ranges::count(meant.areas, area) > 0) add(area, names.areas);
    }
    add(device.domain, names.domains);
  }
  return names;
}

/// Only `names` where a schema says a text, or a list of texts.
Json restricted(Json schema, const std::vector<std::string>& names, int64_t& left) {
  if (names.empty() || !schema.is_object()) return schema;
  if (schema.value("type", Json()) == "string") {
    left -= std::ssize(names);
    if (left < 0) throw UserError("the functions have too many places for names of the home");
    schema["enum"] = names;
  }
  if (schema.contains("items")) {
    schema["items"] = restricted(schema["items"], names, left);
    schema["minItems"] = 1;
  }
  if (schema.value("anyOf", Json()).is_array()) {
    for (Json& one : schema["anyOf"]) one = restricted(one, names, left);
  }
  return schema;
}

/// A function's arguments in each way to say which devices are meant.
Json ways_to_call(std::string_view function, const Json& parameters, const Names& names,
                  int64_t& left) {
  using Kept = std::vector<std::pair<std::string, const std::vector<std::string>*>>;
  Json ways = Json::array();
  const Json& properties = parameters["properties"];
  /// Of the arguments that say which devices, those of `kept`, which are required.
  const auto add_way = [&](const Kept& kept) {
    for (const auto& [key, values] : kept) {
      if (!properties.contains(key) || values->empty()) return;
    }
    Json way = parameters;
    way["properties"] = Json::object();
    way["additionalProperties"] = false;
    if (!way.value("required", Json()).is_array()) way["required"] = Json::array();
    for (const auto& [key, schema] : properties.items()) {
      const auto known = std::ranges::find(kept, key, &Kept::value_type::first);
      const bool says_which = key == "name" || key == "area" || key == "floor" || key == "domain" ||
                              key == "device_class";
      if (says_which && known == kept.end()) continue;
      way["properties"][key] =
          known == kept.end() ? schema : restricted(schema, *known->second, left);
      if (known == kept.end() || std::ranges::count(way["required"], Json(key)) > 0) continue;
      way["required"].push_back(key);
    }
    ways.push_back(way);
  };
  add_way({{"name", &names.unique}});
  add_way({{"name", &names.shared}, {"area", &names.shared_areas}});
  // An area alone would be all that is in it.
  if (properties.contains("domain")) {
    add_way({{"area", &names.areas}, {"domain", &names.domains}});
  } else {
    add_way({{"area", &names.areas}});
  }
  if (function == "GetLiveContext") add_way({{"domain", &names.domains}});
  return ways;
}

/// Makes a function's schema take what can be done with `meant`; false: nothing can.
bool hold_to_home(std::string_view function, Json& parameters, const MeantDevices& meant,
                  const std::vector<HomeDevice>& home, int64_t& left) {
  if (function.empty() || !parameters.is_object()) return true;
  const Json properties = parameters.value("properties", Json());
  if (!properties.is_object()) return true;
  parameters["additionalProperties"] = false;
  // Timers have names of their own.
  if (function.find("Timer") != std::string_view::npos || parameters.contains("anyOf")) return true;
  const Json ways = ways_to_call(function, parameters, names_for(function, meant, home), left);
  if (ways.empty()) return !properties.contains("name") && !properties.contains("area");
  parameters = Json{{"anyOf", ways}};
  return true;
}

}  // namespace

bool only_tells(const std::string& domain) {
  constexpr std::array<std::string_view, 8> kDomains{
      "sensor", "binary_sensor", "weather", "person", "device_tracker", "event", "sun", "zone"};
  return std::ranges::find(kDomains, domain) != kDomains.end();
}

std::vector<HomeDevice> read_home(const std::string& prompt) {
  std::vector<HomeDevice> home;
  size_t num_names = 0;
  bool is_within = false;  // an entry of such a list
  for (size_t at = 0; at < prompt.size(); at = prompt.find('\n', at)) {
    if (prompt[at] == '\n') ++at;
    std::string_view line = line_at(prompt, at);
    const bool is_new = line.starts_with(kItem);
    is_within = is_within && !is_new && line.starts_with(kIndent);
    if (!is_new && !is_within) continue;
    line.remove_prefix(kItem.size());
    for (const std::string_view key : {"names: ", "domain: ", "areas: "}) {
      if (!line.starts_with(key)) continue;
      std::string scalar(line.substr(key.size()));
      // A long one goes on below.
      for (size_t next = prompt.find('\n', at); next != std::string::npos;
           next = prompt.find('\n', next + 1)) {
        const std::string_view more = line_at(prompt, next + 1);
        if (!more.starts_with(kContinued)) break;
        scalar += " ";
        scalar += more.substr(std::min(more.find_first_not_of(' '), more.size()));
      }
      if (is_new) home.emplace_back();
      is_within = true;
      if (key == "domain: ") {
        home.back().domain = unquoted(scalar);
        continue;
      }
      std::vector<std::string>& texts = key == "names: " ? home.back().names : home.back().areas;
      texts = listed(scalar);
      num_names += texts.size();
      if (num_names > kMostNames) {
        throw UserError("the system message lists more than {} names of a home", kMostNames);
      }
    }
  }
  std::erase_if(home, [](const HomeDevice& device) { return device.names.empty(); });
  return home;
}

std::vector<HomeDevice> read_home(const std::vector<Message>& messages) {
  std::string prompt;
  for (const Message& message : messages) {
    if (message.role == "system") prompt += message.content + "\n";
  }
  return read_home(prompt);
}

ToolSet with_home_names(ToolSet tools, const std::vector<Message>& messages,
                        const std::string& words) {
  if (tools.empty()) return tools;
  const std::vector<HomeDevice> home = read_home(messages);
  if (home.empty()) return tools;
  const MeantDevices meant = meant_by(words, home);
  ToolSet possible{.json = {}, .names = tools.names, .strict = tools.strict};
  Json list = Json::array();
  int64_t left = kMostPlaces;
  for (Json& tool : Json::parse(tools.json)) {
    const std::string name = tool["function"]["name"].get<std::string>();
    Json& parameters = tool["function"]["parameters"];
    // Without words a function stays, as nothing says that another is meant.
    if (hold_to_home(own_name(name), parameters, meant, home, left) || words.empty()) {
      list.push_back(tool);
    } else {
      std::erase(possible.names, name);
      std::erase(possible.strict, name);
    }
  }
  // Nothing can be done with what is said, so the model may mean something else.
  if (list.empty()) return with_home_names(std::move(tools), messages, "");
  possible.json = list.dump();
  return possible;
}

}  // namespace predgen::serve
