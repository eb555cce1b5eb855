#include <gtest/gtest.h>

#include "runtime/converse/tool_rounds.h"

namespace predgen {
namespace {

TEST(Consent, IsAYesAndNothingElse) {
  for (const char* words : {"Yes.", "yes please", "Okay, do it!", "Go ahead", "Ja, gerne", "Sure",
                            "Of course, thank you very much"}) {
    EXPECT_TRUE(is_consent(words)) << words;
  }
  for (const char* words :
       {"", "No.", "Yes, but the other one", "Yesterday", "Don't", "ok wait", "What is that?",
        "yes and then tell me what the weather is like in Paris", "Oh yes"}) {
    EXPECT_FALSE(is_consent(words)) << words;
  }
}

}  // namespace
}  // namespace predgen
