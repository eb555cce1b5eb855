#include "text/grammar/promised_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace predgen {
namespace {

using Keywords = std::set<std::string, std::less<>>;

const Keywords kAnnotations{
    "title",    "description", "default",  "examples",      "example",
    "$schema",  "$id",         "$comment", "readOnly",      "writeOnly",
    "nullable", "deprecated",  "$anchor",  "discriminator", "contentMediaType"};
const Keywords kSizeKeywords{"minItems",  "maxItems",      "minLength",
                             "maxLength", "minProperties", "maxProperties"};
const Keywords kNumbers{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
/// The value is a schema; schemas by name; or a list of them.
const Keywords kInner{"additionalProperties", "unevaluatedProperties", "propertyNames", "items",
                      "unevaluatedItems"};
const Keywords kByName{"properties", "patternProperties", "$defs", "definitions"};
const Keywords kLists{"anyOf", "oneOf", "allOf", "prefixItems"};
/// Each says all about a value that is said; so do they in the compiler.
const Keywords kWholeKeywords{"$ref", "const", "enum", "anyOf", "oneOf", "allOf"};
/// What the compiler takes a value's type from if there is no "type".
const Keywords kTelling{"properties", "additionalProperties", "unevaluatedProperties",
                        "items",      "prefixItems",          "unevaluatedItems"};
/// May name other properties than "properties" beside them.
constexpr std::array kMoreNames{"anyOf", "oneOf", "allOf",           "if",
                                "then",  "else",  "dependentSchemas"};
const Keywords kFormats{"email",         "date",
                        "time",          "date-time",
                        "duration",      "ipv4",
                        "ipv6",          "hostname",
                        "uuid",          "uri",
                        "uri-reference", "uri-template",
                        "json-pointer",  "relative-json-pointer"};

/// Whether a keyword says something about values of another type only, "maximum" of texts, say.
bool is_about(const std::string& type, const std::string& keyword) {
  if (kNumbers.contains(keyword)) return type == "integer" || type == "number";
  for (const char* word : {"minLength", "maxLength", "pattern", "format"}) {
    if (keyword == word) return type == "string";
  }
  const bool is_of_lists = keyword.ends_with("tems");
  if (is_of_lists) return type == "array";
  return type == "object";
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "array" ? value.is_array() : value.is_object();
}

/// An object of which some properties are required by turns ("anyOf": [{"required": [..]}, ..],
/// beside its properties), as alternatives that say all; null: it is no such thing.
Json alternatives(const Json& schema) {
  constexpr size_t kMostTurns = 16;  // each is a copy of the rest
  if (!schema.contains("properties") || !schema.contains("anyOf")) return nullptr;
  if (!schema["anyOf"].is_array() || schema["anyOf"].size() > kMostTurns) return nullptr;
  Json base = schema, whole{{"anyOf", Json::array()}};
  for (const char* said : {"default", "examples", "description"}) base.erase(said);
  base.erase("anyOf");
  for (const char* keyword : {"$defs", "definitions"}) {
    if (!base.contains(keyword)) continue;
    whole[keyword] = base[keyword];
    base.erase(keyword);
  }
  const auto is_list = [](const Json& object) {
    return object.value("required", Json()).is_array();
  };
  for (const Json& turn : schema["anyOf"]) {
    if (!turn.is_object() || turn.size() != 1 || !is_list(turn)) return nullptr;
    Json& one = whole["anyOf"].emplace_back(base);
    if (!is_list(one)) one["required"] = Json::array();
    for (const Json& name : turn["required"]) {
      if (std::ranges::count(one["required"], name) == 0) one["required"].push_back(name);
    }
  }
  return whole["anyOf"].empty() ? Json() : whole;
}

class Reader {
 public:
  Reader(std::string where, bool is_strict) : where_(std::move(where)), is_strict_(is_strict) {}

  Json read(const Json& schema, const std::string& path, int64_t depth) {
    count_parts(1);
    if (depth > kMostSchemaDepth) {
      throw UserError("{} is nested more than {} deep", where_, kMostSchemaDepth);
    }
    if (schema.is_boolean()) return schema;
    if (!schema.is_object()) throw UserError("{} must be an object or a boolean", place(path));
    if (const Json all = alternatives(schema); !all.is_null()) return read(all, path, depth);
    // What is left to the model is never whether it writes an object.
    const bool keeps_object = !is_strict_ && schema.contains("properties");
    const auto is_left = [&](const std::string& keyword) {
      return keeps_object && (keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf");
    };
    std::string whole;  // the keyword that says all
    for (const std::string& keyword : kWholeKeywords) {
      if (whole.empty() && schema.contains(keyword) && !is_left(keyword)) whole = keyword;
    }
    Json kept = Json::object();
    for (const auto& [keyword, value] : schema.items()) {
      const std::string at = fmt::format("{}.{}", path, keyword);
      if (kAnnotations.contains(keyword) || (keyword == "uniqueItems" && value == false)) continue;
      if (is_left(keyword)) continue;
      const bool is_definition = keyword == "$defs" || keyword == "definitions";
      if (!whole.empty() && keyword != whole && !is_definition) {
        if (!stands_beside(keyword, value, whole, schema)) refuse(at, "beside " + whole);
        continue;
      }
      read_keyword(keyword, value, schema, at, depth, kept);
    }
    const bool names_more = std::ranges::any_of(kMoreNames, [&](const char* keyword) {
      return schema.contains(keyword) && !kept.contains(keyword);
    });
    if (names_more && kept.contains("properties") && !kept.contains("additionalProperties")) {
      kept["additionalProperties"] = true;
    }
    return kept;
  }

 private:
  std::string place(const std::string& path) const {
    return where_ + (path.empty() ? "" : ": '" + shortened(path.substr(1), 200) + "'");
  }

  void count_parts(int64_t more) {
    num_parts_ += more;
    if (num_parts_ <= kMostSchemaParts) return;
    throw UserError("{} has more than {} parts", where_, kMostSchemaParts);
  }

  /// The value of `path` cannot be promised.
  void refuse(const std::string& path, const std::string& why) const {
    if (!is_strict_) return;
    throw UserError("{} {}: no grammar of this server can hold an answer to it; leave it out",
                    place(path), why.empty() ? "is not supported" : "is not supported " + why);
  }

  /// Whether a keyword says no more than the one that says all.
  static bool stands_beside(const std::string& keyword, const Json& value, const std::string& whole,
                            const Json& schema) {
    if (keyword != "type") return false;
    if (whole != "const" && whole != "enum") return false;
    const Json values = whole == "const" ? Json::array({schema[whole]}) : schema[whole];
    const Json types = value.is_array() ? value : Json::array({value});
    return std::ranges::all_of(values, [&](const Json& one) {
      return std::ranges::any_of(types, [&](const Json& type) {
        return type.is_string() && is_of_type(one, type.get<std::string>());
      });
    });
  }

  void read_keyword(const std::string& keyword, const Json& value, const Json& schema,
                    const std::string& at, int64_t depth, Json& kept) {
    if (kInner.contains(keyword)) {
      if (keyword == "items" && value.is_array()) return refuse(at, "as a list (say prefixItems)");
      kept[keyword] = read(value, at, depth + 1);
    } else if (kByName.contains(keyword)) {
      if (!value.is_object()) throw UserError("{} must be an object", place(at));
      kept[keyword] = Json::object();
      for (const auto& [name, one] : value.items()) {
        if (keyword == "patternProperties") check_form_text(name, place(at));
        kept[keyword][name] = read(one, fmt::format("{}.{}", at, name), depth + 1);
      }
    } else if (kLists.contains(keyword)) {
      if (!value.is_array() || value.empty()) {
        throw UserError("{} must be a list of schemas", place(at));
      }
      if (keyword == "allOf" && value.size() > 1) return refuse(at, "with several schemas");
      kept[keyword] = Json::array();
      for (const Json& one : value) {
        const std::string here = at + fmt::format("[{}]", kept[keyword].size());
        kept[keyword].push_back(read(one, here, depth + 1));
      }
    } else {
      read_simple(keyword, value, schema, at, kept);
    }
  }

  void read_simple(const std::string& keyword, const Json& value, const Json& schema,
                   const std::string& at, Json& kept) {
    if (keyword == "type" || keyword == "const" || keyword == "enum" || keyword == "required") {
      count_parts(std::ssize(value));
      kept[keyword] = value;
      return;
    }
    if (keyword == "$ref") {
      const bool is_own = value.is_string() && value.get<std::string>().starts_with('#');
      return is_own ? void(kept[keyword] = value) : refuse(at, "unless it begins with '#'");
    }
    const bool is_number = kNumbers.contains(keyword);
    if (!is_number && !kSizeKeywords.contains(keyword) && keyword != "pattern" &&
        keyword != "format") {
      return refuse(at, "");
    }
    if (!schema.contains("type") && std::ranges::none_of(kTelling, [&](const std::string& one) {
          return schema.contains(one);
        })) {
      return refuse(at, "without a type");
    }
    const Json& type = schema.contains("type") ? schema["type"] : Json();
    if (type.is_string() && !is_about(type.get<std::string>(), keyword)) return;
    if (kSizeKeywords.contains(keyword)) check_count(value, at);
    if (is_number && !value.is_number()) throw UserError("{} must be a number", place(at));
    if (keyword == "pattern" || keyword == "format") {
      if (!value.is_string()) throw UserError("{} must be a text", place(at));
      if (keyword == "pattern") check_form_text(value.get<std::string>(), place(at));
    }
    if (keyword == "format" && !kFormats.contains(value.get<std::string>())) {
      return refuse(at, fmt::format("as '{}'", shortened(value.get<std::string>())));
    }
    kept[keyword] = value;
  }

  void check_count(const Json& value, const std::string& at) const {
    if (value.is_number_integer() && value >= 0 && value <= kMostRepeats) return;
    throw UserError("{} must be an integer from 0 to {}", place(at), kMostRepeats);
  }

  const std::string where_;
  const bool is_strict_;
  int64_t num_parts_ = 0;
};

/// The largest number in the braces at `text`'s beginning, which stand for repetitions; 1: none do.
int64_t repeats_of(std::string_view text) {
  int64_t most = 1;
  const char* at = text.data() + 1;
  const char* const end = text.data() + std::min(text.find('}'), text.size());
  while (at < end) {
    int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec == std::errc::result_out_of_range) return kMostRepeats + 1;
    if (read.ec == std::errc()) most = std::max(most, number);
    at = read.ec == std::errc() ? read.ptr : at + 1;
    if (at < end && *at != ',' && *at != ' ') return 1;  // other braces
    if (at < end) ++at;
  }
  return most;
}

}  // namespace

Json promised_schema(const Json& schema, const std::string& where, bool is_strict) {
  const std::string text = to_text(schema);
  if (text.size() > kMostFormBytes) {
    throw UserError("{} has {} bytes, and the limit is {}", where, text.size(), kMostFormBytes);
  }
  return Reader(where, is_strict).read(schema, "", 0);
}

Json only_named(Json schema) {
  if (!schema.is_object()) return schema;
  for (const auto& [keyword, value] : schema.items()) {
    if (kInner.contains(keyword)) value = only_named(std::move(value));
    if (!kByName.contains(keyword) && !kLists.contains(keyword)) continue;
    for (Json& one : value) one = only_named(std::move(one));
  }
  const bool names_some = schema.contains("properties") && !schema["properties"].empty();
  const bool says_more = schema.contains("additionalProperties") ||
                         schema.contains("unevaluatedProperties") ||
                         schema.contains("patternProperties");
  if (names_some && !says_more) schema["additionalProperties"] = false;
  return schema;
}

void check_form_text(const std::string& text, const std::string& where) {
  if (text.size() > kMostFormBytes) {
    throw UserError("{} has {} bytes, and the limit is {}", where, text.size(), kMostFormBytes);
  }
  std::vector<int64_t> sizes{0};  // of the groups that are open, with their repetitions
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    int64_t size = 0;
    if (rest.front() == '\\') {
      ++at;
    } else if (rest.front() == '(') {
      sizes.push_back(0);
    } else if (rest.front() == ')' && sizes.size() > 1) {
      const bool repeats = rest.size() > 1 && rest[1] == '{';
      size = std::max<int64_t>(sizes.back(), 1) * (repeats ? repeats_of(rest.substr(1)) : 1);
      at += repeats ? 1 : 0;
      sizes.pop_back();
    } else if (rest.front() == '{') {
      size = repeats_of(rest);
    }
    sizes.back() += size;
    if (sizes.back() > kMostRepeats) {
      throw UserError("{} repeats parts more than {} times in all", where, kMostRepeats);
    }
    if (std::ssize(sizes) > kMostSchemaDepth) {
      throw UserError("{} is nested more than {} deep", where, kMostSchemaDepth);
    }
  }
}

}  // namespace predgen
