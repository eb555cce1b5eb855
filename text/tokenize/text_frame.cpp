#include "text/tokenize/text_frame.h"

#include "core/error.h"

namespace predgen {
namespace {

/// {"SpecialToken": {"id": "<s>"}} stands for ids in "special_tokens"; {"Sequence": {"id": "A"}}
/// for the text.
TextFrame read_template(const Json& processor, const std::string& where) {
  const Json special = json_get<Json>(processor, "special_tokens", where);
  TextFrame frame;
  bool has_text = false;
  for (const Json& part : json_get<Json>(processor, "single", where)) {
    if (part.contains("Sequence")) {
      const std::string name = json_get<std::string>(part["Sequence"], "id", where);
      if (has_text || name != "A") {
        throw UserError("{}: \"single\" of the post_processor must hold the text A once", where);
      }
      has_text = true;
      continue;
    }
    const std::string name =
        json_get<std::string>(json_get<Json>(part, "SpecialToken", where), "id", where);
    TokenIds& ids = has_text ? frame.after : frame.before;
    for (const TokenId id :
         json_get<TokenIds>(json_get<Json>(special, name.c_str(), where), "ids", where)) {
      ids.push_back(id);
    }
  }
  if (!has_text) {
    throw UserError("{}: \"single\" of the post_processor must hold the text A once", where);
  }
  return frame;
}

TokenIds read_end(const Json& processor, const char* key, const std::string& where) {
  const Json pair = json_get<Json>(processor, key, where);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_integer()) {
    fail_json_key(key, where, "must be [token, id]");
  }
  return {pair[1].get<TokenId>()};
}

}  // namespace

TextFrame read_post_processor(const Json& post_processor, const std::string& where) {
  if (post_processor.is_null()) return {};
  const std::string type = json_get<std::string>(post_processor, "type", where);
  if (type == "ByteLevel") return {};  // affects offsets only
  if (type == "TemplateProcessing") return read_template(post_processor, where);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {read_end(post_processor, "cls", where), read_end(post_processor, "sep", where)};
  }
  if (type != "Sequence") {
    throw UserError(
        "{}: post_processor type \"{}\" is not supported (ByteLevel, TemplateProcessing, "
        "BertProcessing, RobertaProcessing, Sequence)",
        where, type);
  }
  TextFrame frame;
  for (const Json& step : json_get<Json>(post_processor, "processors", where)) {
    const TextFrame added = read_post_processor(step, where);
    frame.before.insert(frame.before.begin(), added.before.begin(), added.before.end());
    frame.after.insert(frame.after.end(), added.after.begin(), added.after.end());
  }
  return frame;
}

TextFrame read_added_ends(const Json& tokenizer_config, const std::string& where,
                          const std::function<TokenId(const char* key)>& id_of) {
  const auto asks = [&](const char* key) {
    return tokenizer_config.contains(key) && !tokenizer_config[key].is_null() &&
           json_get<bool>(tokenizer_config, key, where);
  };
  TextFrame frame;
  if (asks("add_bos_token")) frame.before = {id_of("bos_token")};
  if (asks("add_eos_token")) frame.after = {id_of("eos_token")};
  return frame;
}

}  // namespace predgen
