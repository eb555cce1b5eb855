#include "model/byte_level_bpe.h"

#include <mutex>
#include <queue>
#include <tuple>

#include "core/error.h"
#include "model/byte_alphabet.h"

namespace predgen {
namespace {

constexpr size_t kMaxCachedWords = 1 << 16;
constexpr size_t kMaxCachedBytes = 64;  // of one word

uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
}

/// Fields that change ids and that this implementation does not follow.
void refuse_unsupported(const Json& model, const std::string& where) {
  const auto refuse = [&](const char* key) {
    throw UserError("{}: \"{}\": {} is not supported in a byte-level BPE", where, key,
                    model.at(key).dump());
  };
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.contains(key) && !model[key].is_null() && model[key] != "") refuse(key);
  }
  if (model.contains("dropout") && !model["dropout"].is_null() && model["dropout"] != 0) {
    refuse("dropout");
  }
  if (model.contains("byte_fallback") && model["byte_fallback"] != false) refuse("byte_fallback");
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(const TokenizerJson& tokenizer, const std::string& where)
    : vocabulary_(tokenizer.vocabulary) {
  const Json model = json_get<Json>(tokenizer.fields, "model", where);
  refuse_unsupported(model, where);
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto found = vocabulary_.find(byte_letter(static_cast<uint8_t>(byte)));
    byte_ids_[byte] = found == vocabulary_.end() ? -1 : found->second;
  }
  read_merges(model, where);
  if (model.contains("ignore_merges") && json_get<bool>(model, "ignore_merges", where)) {
    read_whole_words();
  }
}

void ByteLevelBpe::read_whole_words() {
  for (const auto& [token, id] : vocabulary_) {
    if (const auto bytes = bytes_of_letters(token)) whole_words_.emplace(*bytes, id);
  }
}

void ByteLevelBpe::read_merges(const Json& model, const std::string& where) {
  if (!model.contains("merges") || !model["merges"].is_array()) {
    fail_json_key("merges", where, "must be a list of token pairs");
  }
  const Json& merges = model["merges"];
  merges_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Json& merge = merges[rank];
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (merge.is_string() && merge.get<std::string>().find(' ') != std::string::npos) {
      const std::string pair = merge.get<std::string>();  // the older form, "left right"
      left = pair.substr(0, pair.find(' '));
      right = pair.substr(pair.find(' ') + 1);
    } else {
      fail_json_key("merges", where, fmt::format("[{}] is {}, not a pair", rank, merge.dump()));
    }
    const auto id_of = [&](const std::string& token) {
      const auto found = vocabulary_.find(token);
      if (found == vocabulary_.end()) {
        fail_json_key("merges", where,
                      fmt::format("[{}] needs \"{}\", which is not in vocab", rank, token));
      }
      return found->second;
    };
    merges_[pair_key(id_of(left), id_of(right))] = {static_cast<int64_t>(rank),
                                                    id_of(left + right)};
  }
}

const ByteLevelBpe::Merge* ByteLevelBpe::find_merge(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void ByteLevelBpe::encode(std::string_view word, TokenIds& ids) const {
  const bool cacheable = word.size() <= kMaxCachedBytes;
  if (cacheable) {
    const std::shared_lock lock(cache_mutex_);
    if (const auto found = cache_.find(word); found != cache_.end()) {
      ids.insert(ids.end(), found->second.begin(), found->second.end());
      return;
    }
  }
  TokenIds word_ids;
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    word_ids = {whole->second};
  } else {
    word_ids = merge_bytes(word);
  }
  ids.insert(ids.end(), word_ids.begin(), word_ids.end());
  if (cacheable) {
    const std::unique_lock lock(cache_mutex_);
    if (cache_.size() < kMaxCachedWords) cache_.emplace(word, std::move(word_ids));
  }
}

TokenIds ByteLevelBpe::merge_bytes(std::string_view word) const {
  // A linked list of symbols; a merge leaves its result on the left one and unlinks the right one.
  struct Symbol {
    TokenId id;
    int64_t previous, next;  // -1: none
  };
  const auto size = static_cast<int64_t>(word.size());
  std::vector<Symbol> symbols(word.size());
  for (int64_t index = 0; index < size; ++index) {
    const auto byte = static_cast<uint8_t>(word[static_cast<size_t>(index)]);
    if (byte_ids_[byte] < 0) {
      throw UserError(
          "the tokenizer's vocabulary lacks the byte 0x{:02X}: train it with the whole "
          "byte alphabet",
          byte);
    }
    symbols[static_cast<size_t>(index)] = {byte_ids_[byte], index - 1,
                                           index + 1 < size ? index + 1 : -1};
  }
  const auto at = [&](int64_t index) -> Symbol& { return symbols[static_cast<size_t>(index)]; };

  using Candidate = std::tuple<int64_t, int64_t, TokenId, TokenId>;  // rank, left index, ids
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto push = [&](int64_t left) {
    if (left < 0 || at(left).next < 0) return;
    const TokenId left_id = at(left).id, right_id = at(at(left).next).id;
    if (const Merge* merge = find_merge(left_id, right_id)) {
      queue.emplace(merge->rank, left, left_id, right_id);
    }
  };
  for (int64_t index = 0; index + 1 < size; ++index) push(index);

  while (!queue.empty()) {
    const auto [rank, left, left_id, right_id] = queue.top();
    queue.pop();
    const int64_t right = at(left).next;
    // Stale if an earlier merge changed either side; an unlinked symbol has id -1.
    if (at(left).id != left_id || right < 0 || at(right).id != right_id) continue;
    at(left).id = find_merge(left_id, right_id)->merged;
    at(left).next = at(right).next;
    if (at(right).next >= 0) at(at(right).next).previous = left;
    at(right).id = -1;
    push(at(left).previous);
    push(left);
  }

  TokenIds ids;
  for (int64_t index = size > 0 ? 0 : -1; index >= 0; index = at(index).next) {
    ids.push_back(at(index).id);
  }
  return ids;
}

}  // namespace predgen
