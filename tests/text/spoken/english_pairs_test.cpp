#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "text/spoken/speech_text.h"

namespace predgen {
namespace {

/// Each sentence of english_pairs.tsv is spoken as its second column says; and what is said stays
/// when it is read again.
TEST(EnglishPairs, AreSpokenAsWritten) {
  std::ifstream file("tests/text/spoken/english_pairs.tsv");
  ASSERT_TRUE(file) << "run from the repository's root";
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ") || line.starts_with("# English") || line.empty()) continue;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    const std::string written = line.substr(0, tab);
    const std::string spoken = line.substr(tab + 1);
    EXPECT_EQ(speakable_text(written), spoken) << written;
    EXPECT_EQ(speakable_text(spoken), spoken) << "of " << written;
    ++count;
  }
  EXPECT_GE(count, 400);
}

}  // namespace
}  // namespace predgen
