#include "core/hash.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "core/error.h"
#include "core/files.h"

namespace predgen {
namespace {

std::string hash(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  for (const std::string_view part : parts) hasher.add(part);
  return hasher.hex();
}

// Manifests hold these: they may never change.
TEST(Hasher, GoldenValues) {
  EXPECT_EQ(Hasher().hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash({"predgen"}), "fcaa166ca6a860cc40c1fd7f86d74018");
}

TEST(Hasher, EveryByteAndEveryBoundaryCounts) {
  EXPECT_NE(hash({"ab", "c"}), hash({"a", "bc"}));
  EXPECT_NE(hash({"abc"}), hash({"a", "bc"}));
  EXPECT_NE(hash({}), hash({""}));
  EXPECT_NE(hash({"abc"}), hash({"abd"}));
  EXPECT_EQ(hash({"abc", "d"}), hash({"abc", "d"}));
  EXPECT_EQ(hash({"abc"}).size(), 32u);
}

TEST(Hasher, HexMayBeAskedInBetween) {
  Hasher hasher;
  hasher.add("a");
  const std::string first = hasher.hex();
  EXPECT_EQ(hasher.hex(), first);
  hasher.add("b");
  EXPECT_EQ(hasher.hex(), hash({"a", "b"}));
}

TEST(Hasher, AFileCountsAsItsContents) {
  const std::string file = testing::TempDir() + "predgen_hash_test";
  write_file(file, "contents");
  EXPECT_EQ(Hasher().add_file(file).hex(), hash({"contents"}));
  const std::string large(2'500'000, 'x');  // more than one chunk
  write_file(file, large);
  EXPECT_EQ(Hasher().add_file(file).hex(), hash({large}));
  EXPECT_THROW(Hasher().add_file(testing::TempDir()), UserError);
  std::remove(file.c_str());
  EXPECT_THROW(Hasher().add_file(file), UserError);
}

TEST(Sha256, GivesTheExamplesOfTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace predgen
