#include <gtest/gtest.h>

#include "core/files.h"
#include "runtime/converse/session_options.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

TEST(SystemPrompt, IsANameATextOrAFile) {
  EXPECT_EQ(system_prompt_text("none"), "");
  EXPECT_EQ(system_prompt_text(""), "");
  EXPECT_EQ(system_prompt_text("Be brief."), "Be brief.");
  EXPECT_NE(system_prompt_text("table3").find("Do not complain"), std::string::npos);
  EXPECT_NE(system_prompt_text("spoken").find("plain words"), std::string::npos);
}

TEST(SystemPrompt, IsSpokenWhereNothingElseIsAskedFor) {
  EXPECT_EQ(system_prompt_text("auto", true), system_prompt_text("spoken"));
  EXPECT_EQ(system_prompt_text("auto", false), "");
  EXPECT_EQ(system_prompt_text("none", true), "");
}

TEST(SystemPrompt, RefusesNamesThatThereAreNot) {
  expect_user_error([] { system_prompt_text("tabel3"); }, {"tabel3", "did you mean \"table3\"?"});
  expect_user_error([] { system_prompt_text("auto"); }, {"\"auto\""});
  expect_user_error([] { system_prompt_text("@/no/such/file"); }, {"/no/such/file"});
}

}  // namespace
}  // namespace predgen
