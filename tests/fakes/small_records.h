#pragma once

#include <string>

#include "data/dataset_store.h"

namespace predgen {

/// A training record for tiny_config(), another one for every index, with one trajectory block.
inline data::Record small_record(int64_t index) {
  data::Record record;
  record.conversation_id = std::to_string(index);
  record.prompt_length = 3;
  const int64_t length = 8 + index % 5;
  for (int64_t i = 0; i < length; ++i) record.tokens.push_back((i * 7 + index * 5 + 1) % 38);
  for (int64_t i = 0; i < length; ++i) record.loss_mask.push_back(i >= 3);
  const TokenId t = index % 20;
  record.blocks = {{{{1, 2, 3, 4}, {t, 5, 6, 7}, {t, t + 1, t + 2, t + 3}}}};
  return record;
}

}  // namespace predgen
