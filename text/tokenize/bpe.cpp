#include "text/tokenize/bpe.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

#include "core/error.h"
#include "text/tokenize/token_decoder.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();  // above every rank
constexpr size_t kFew = 24;  // up to this size scanning all pairs beats a queue

}  // namespace

BpeMerges::BpeMerges(size_t count) {
  size_t size = 2;
  while (size < 2 * count) {
    size *= 2;
    --shift_;
  }
  table_.assign(size, Merge{kNoPair, kNever, -1});
}

size_t BpeMerges::find(uint64_t pair) const {
  size_t place = static_cast<size_t>(pair * 0x9E3779B97F4A7C15ull >> shift_);
  while (table_[place].pair != pair && table_[place].pair != kNoPair) {
    place = (place + 1) & (table_.size() - 1);
  }
  return place;
}

void BpeMerges::add(TokenId left, TokenId right, size_t rank, TokenId merged) {
  const uint64_t pair = pair_of(left, right);
  table_[find(pair)] = {pair, static_cast<int32_t>(rank), static_cast<int32_t>(merged)};
}

void BpeMerges::apply(TokenIds& ids) const {
  if (ids.size() <= kFew) {
    apply_to_few(ids);
  } else {
    apply_to_many(ids);
  }
}

void BpeMerges::apply_to_few(TokenIds& ids) const {
  std::array<const Merge*, kFew> merges;  // merges[i]: of ids[i] and ids[i + 1]
  const auto look_up = [&](size_t i) { merges[i] = &table_[find(pair_of(ids[i], ids[i + 1]))]; };
  for (size_t i = 0; i + 1 < ids.size(); ++i) look_up(i);
  while (ids.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < ids.size(); ++i) {
      if (merges[i]->rank < merges[best]->rank) best = i;
    }
    if (merges[best]->rank == kNever) return;
    ids[best] = merges[best]->merged;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + ids.size(), merges.begin() + best);
    if (best > 0) look_up(best - 1);
    if (best + 1 < ids.size()) look_up(best);
  }
}

void BpeMerges::apply_to_many(TokenIds& ids) const {
  // A linked list of symbols; a merge leaves its result on the left one and unlinks the right one.
  struct Symbol {
    TokenId id;
    int32_t rank, merged;    // of the merge with the next symbol; kNever: none
    int64_t previous, next;  // -1: none
  };
  struct Candidate {
    int32_t rank;
    int64_t left;
    bool operator<(const Candidate& other) const {  // the top of the queue is the greatest
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const auto size = static_cast<int64_t>(ids.size());
  std::vector<Symbol> symbols(ids.size());
  const auto at = [&](int64_t index) -> Symbol& { return symbols[static_cast<size_t>(index)]; };
  for (int64_t index = 0; index < size; ++index) {
    at(index) = {ids[static_cast<size_t>(index)], kNever, -1, index - 1,
                 index + 1 < size ? index + 1 : -1};
  }
  std::vector<Candidate> candidates;
  candidates.reserve(ids.size());
  const auto look_up = [&](int64_t left) {
    Symbol& symbol = at(left);
    symbol.rank = kNever;
    if (symbol.next < 0) return false;
    const Merge& merge = table_[find(pair_of(symbol.id, at(symbol.next).id))];
    symbol.rank = merge.rank;
    symbol.merged = merge.merged;
    return merge.rank != kNever;
  };
  for (int64_t index = 0; index < size; ++index) {
    if (look_up(index)) candidates.push_back({at(index).rank, index});
  }
  std::priority_queue<Candidate> queue({}, std::move(candidates));
  const auto update = [&](int64_t left) {
    if (left >= 0 && look_up(left)) queue.push({at(left).rank, left});
  };
  while (!queue.empty()) {
    const auto [rank, left] = queue.top();
    queue.pop();
    Symbol& symbol = at(left);
    if (symbol.rank != rank) continue;  // an earlier merge has changed one of the two
    Symbol& right = at(symbol.next);
    symbol.id = symbol.merged;
    symbol.next = right.next;
    if (right.next >= 0) at(right.next).previous = left;
    right.rank = kNever;
    update(left);
    update(symbol.previous);
  }
  ids.clear();
  for (int64_t index = 0; index >= 0; index = at(index).next) ids.push_back(at(index).id);
}

namespace {

bool is_set(const Json& model, const char* key, const std::string& where) {
  return model.contains(key) && !model[key].is_null() && json_get<bool>(model, key, where);
}

/// Rejects fields that change ids and are not implemented here.
void refuse_unsupported(const Json& model, const std::string& where) {
  const auto refuse = [&](const char* key) {
    throw UserError("{}: \"{}\": {} is not supported in a BPE", where, key, model.at(key).dump());
  };
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.contains(key) && !model[key].is_null() && model[key] != "") refuse(key);
  }
  if (model.contains("dropout") && !model["dropout"].is_null() && model["dropout"] != 0) {
    refuse("dropout");
  }
}

/// ["left", "right"], or in the older form "left right".
std::pair<std::string, std::string> read_pair(const Json& merge, size_t rank,
                                              const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const std::string pair = merge.get<std::string>();
    const size_t space = pair.find(' ');
    if (space != std::string::npos) return {pair.substr(0, space), pair.substr(space + 1)};
  }
  fail_json_key("merges", where, fmt::format("[{}] is {}, not a pair", rank, merge.dump()));
}

const Json& read_list(const Json& model, const std::string& where) {
  if (!model.contains("merges") || !model["merges"].is_array()) {
    fail_json_key("merges", where, "must be a list of token pairs");
  }
  return model["merges"];
}

}  // namespace

Bpe::Bpe(const TokenizerJson& tokenizer, Units units, const std::vector<std::string>& control,
         const std::string& where)
    : vocabulary_(tokenizer.vocabulary),
      units_(units),
      merges_(read_list(tokenizer.fields.at("model"), where).size()) {
  const Json& model = tokenizer.fields.at("model");
  refuse_unsupported(model, where);
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const std::string letter = units == Units::kBytes ? byte_letter(static_cast<uint8_t>(byte))
                                                      : std::string(1, static_cast<char>(byte));
    byte_ids_[byte] = find(letter);
    fallback_[byte] = find(fmt::format("<0x{:02X}>", byte));
  }
  read_options(model, where);
  StringMap<bool> controls;
  for (const std::string& token : control) controls.emplace(token, true);
  read_merges(model, controls, where);
  if (takes_whole_words_) read_whole_words(controls);
}

TokenId Bpe::find(std::string_view token) const {
  const auto found = vocabulary_.find(token);
  return found == vocabulary_.end() ? kNone : found->second;
}

void Bpe::read_options(const Json& model, const std::string& where) {
  takes_whole_words_ = is_set(model, "ignore_merges", where);
  fuses_unknown_ = is_set(model, "fuse_unk", where);
  has_fallback_ = is_set(model, "byte_fallback", where);
  if (has_fallback_ && units_ == Units::kBytes) {
    throw UserError("{}: \"byte_fallback\": true is not supported together with ByteLevel", where);
  }
  if (model.contains("unk_token") && !model["unk_token"].is_null()) {
    const std::string token = json_get<std::string>(model, "unk_token", where);
    unknown_ = find(token);
    if (unknown_ == kNone) {
      fail_json_key("unk_token", where, fmt::format("is \"{}\", which is not in vocab", token));
    }
  }
}

void Bpe::read_whole_words(const StringMap<bool>& control) {
  for (const auto& [token, id] : vocabulary_) {
    if (control.contains(token)) continue;
    if (units_ == Units::kCharacters) {
      whole_words_.emplace(token, id);
    } else if (const auto bytes = bytes_of_letters(token)) {
      whole_words_.emplace(*bytes, id);
    }
  }
}

void Bpe::read_merges(const Json& model, const StringMap<bool>& control, const std::string& where) {
  const Json& merges = read_list(model, where);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = read_pair(merges[rank], rank, where);
    const auto id_of = [&](const std::string& token) {
      const TokenId id = find(token);
      if (id == kNone) {
        fail_json_key("merges", where,
                      fmt::format("[{}] needs \"{}\", which is not in vocab", rank, token));
      }
      return id;
    };
    const TokenId left_id = id_of(left), right_id = id_of(right), merged = id_of(left + right);
    if (!control.contains(left + right)) merges_.add(left_id, right_id, rank, merged);
  }
}

void Bpe::encode(std::string_view word, TokenIds& ids) const {
  cache_.append(word, ids, [this](std::string_view unknown) {
    const auto whole = whole_words_.find(unknown);
    if (whole != whole_words_.end()) return TokenIds{whole->second};
    TokenIds word_ids = start_ids(unknown);
    merges_.apply(word_ids);
    return word_ids;
  });
}

TokenId Bpe::unit_id(std::string_view unit) const {
  return unit.size() == 1 ? byte_ids_[static_cast<uint8_t>(unit[0])] : find(unit);
}

bool Bpe::add_bytes(std::string_view unit, TokenIds& ids) const {
  if (!has_fallback_) return false;
  const size_t begin = ids.size();
  for (const char byte : unit) {
    const TokenId id = fallback_[static_cast<uint8_t>(byte)];
    if (id == kNone) {
      ids.resize(begin);
      return false;
    }
    ids.push_back(id);
  }
  return true;
}

TokenIds Bpe::start_ids(std::string_view word) const {
  TokenIds ids;
  ids.reserve(word.size());
  bool has_unknown = false;  // seen, not yet in `ids`
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    if (units_ == Units::kBytes) {
      ++at;
    } else {
      next_character(word, at);
    }
    const std::string_view unit = word.substr(begin, at - begin);
    if (const TokenId id = unit_id(unit); id != kNone) {
      if (has_unknown) ids.push_back(unknown_);
      has_unknown = false;
      ids.push_back(id);
    } else if (add_bytes(unit, ids)) {
      // As in `tokenizers`, a preceding unknown character comes after it. With all 256 byte tokens
      // there is none.
    } else if (unknown_ != kNone) {
      if (has_unknown && !fuses_unknown_) ids.push_back(unknown_);
      has_unknown = true;
    }  // Otherwise it is dropped, and its neighbours may merge: as in `tokenizers`.
  }
  if (has_unknown) ids.push_back(unknown_);
  return ids;
}

}  // namespace predgen
