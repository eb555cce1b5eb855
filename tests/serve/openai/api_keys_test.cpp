#include <gtest/gtest.h>

#include "core/hash.h"
#include "serve/api_error.h"
#include "serve/openai/openai_api.h"

namespace predgen::serve {
namespace {

std::string code_of(const ApiKeys& keys, const std::string& authorization) {
  try {
    keys.check(authorization);
    return "";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 401);
    return error.code();
  }
}

TEST(ApiKeys, OneOfTheKeysIsNeeded) {
  const ApiKeys keys({sha256_hex("one"), sha256_hex("two")});
  EXPECT_EQ(code_of(keys, "Bearer one"), "");
  EXPECT_EQ(code_of(keys, "Bearer two"), "");
  EXPECT_EQ(code_of(keys, "bearer one"), "");
  EXPECT_EQ(code_of(keys, "BEARER  one "), "");
  EXPECT_EQ(code_of(keys, "Bearerone"), "missing_api_key");
  EXPECT_EQ(code_of(keys, "Bearer three"), "invalid_api_key");
  EXPECT_EQ(code_of(keys, "Bearer "), "invalid_api_key");
  EXPECT_EQ(code_of(keys, "Bearer " + sha256_hex("one")), "invalid_api_key");
  EXPECT_EQ(code_of(keys, ""), "missing_api_key");
  EXPECT_EQ(code_of(keys, "Basic one"), "missing_api_key");
}

TEST(ApiKeys, WithoutKeysEverybodyMayAsk) { EXPECT_EQ(code_of(ApiKeys({}), ""), ""); }

}  // namespace
}  // namespace predgen::serve
