#include "cli/chat_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::cli {
namespace {

using CommandKind = ChatCommand::Kind;
const ChatChoices kChoices{{"off", "greedy", "topk"}, {"ar", "jacobi"}};

ChatCommand parse(const std::string& line) { return parse_command(line, kChoices); }

TEST(ChatCommand, AllOfThem) {
  EXPECT_EQ(parse("/help"), ChatCommand{CommandKind::kHelp});
  EXPECT_EQ(parse("/verifier off"), (ChatCommand{CommandKind::kVerifier, "off"}));
  EXPECT_EQ(parse("/verifier  topk 3 "), (ChatCommand{CommandKind::kVerifier, "topk", 3}));
  EXPECT_EQ(parse("/verifier topk"), (ChatCommand{CommandKind::kVerifier, "topk", 0}));
  EXPECT_EQ(parse("/decoder jacobi"), (ChatCommand{CommandKind::kDecoder, "jacobi"}));
  EXPECT_EQ(parse("/compare"), ChatCommand{CommandKind::kCompare});
  EXPECT_EQ(parse("/again"), ChatCommand{CommandKind::kAgain});
  EXPECT_EQ(parse("/system"), ChatCommand{CommandKind::kSystem});
  EXPECT_EQ(parse("/system  You are Bella.\nBe kind. "),
            (ChatCommand{.kind = CommandKind::kSystem, .text = "You are Bella.\nBe kind."}));
  EXPECT_EQ(parse("/temperature"), ChatCommand{CommandKind::kTemperature});
  EXPECT_EQ(parse("/temperature 0.7"),
            (ChatCommand{.kind = CommandKind::kTemperature, .temperature = 0.7}));
  EXPECT_EQ(parse("/save my chat.json"),
            (ChatCommand{.kind = CommandKind::kSave, .text = "my chat.json"}));
  EXPECT_EQ(parse("/load a.json"), (ChatCommand{.kind = CommandKind::kLoad, .text = "a.json"}));
  EXPECT_EQ(parse("/reset"), ChatCommand{CommandKind::kReset});
  EXPECT_EQ(parse("/quit"), ChatCommand{CommandKind::kQuit});
}

TEST(ChatCommand, WrongOnesAreAnsweredWithTheNearest) {
  expect_user_error([] { parse("/verifer topk"); }, {"/verifer", "\"/verifier\"", "//"});
  expect_user_error([] { parse("/"); }, {"/help", "/quit"});
  expect_user_error([] { parse("/verifier top-k"); }, {"top-k", "\"topk\""});
  expect_user_error([] { parse("/verifier jacobi"); }, {"off, greedy, topk"});
  expect_user_error([] { parse("/decoder"); }, {"/decoder", "ar, jacobi"});
  expect_user_error([] { parse("/verifier greedy 3"); }, {"\"3\""});
  expect_user_error([] { parse("/reset all"); }, {"\"all\""});
  expect_user_error([] { parse("/save "); }, {"/save", "file"});
  expect_user_error([] { parse("/temperature hot"); }, {"\"hot\"", "0.7"});
  expect_user_error([] { parse("/temperature 1 2"); }, {"\"2\""});
  for (const char* number : {"0", "-1", "3x", "1001", "99999999999999999999"}) {
    expect_user_error([&] { parse(std::string("/verifier topk ") + number); }, {number, "1000"});
  }
}

TEST(ChatCommand, WhatIsChosenAtTheStartIsNoMistypedReset) {
  expect_user_error([] { parse("/preset eager"); }, {"\"/preset\"", "predgen chat --preset"});
  expect_user_error([] { parse("/voice"); }, {"predgen chat --tts"});
  expect_user_error([] { parse("/presett"); }, {"did you mean \"/preset\"?"});
}

TEST(ChatCommand, TwoSlashesBeginAText) {
  EXPECT_TRUE(is_command("/help"));
  EXPECT_FALSE(is_command("//help"));
  EXPECT_FALSE(is_command(" /help"));
  EXPECT_EQ(spoken_text("//usr/bin"), "/usr/bin");
  EXPECT_EQ(spoken_text("and/or"), "and/or");
}

TEST(ChatCommand, HelpNamesEverything) {
  const std::string help = command_help(kChoices);
  for (const char* part :
       {"/help", "/system [TEXT]", "off|greedy|topk [K]", "ar|jacobi", "/save FILE", "/quit"}) {
    EXPECT_THAT(help, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace predgen::cli
