#include "serve/realtime/realtime_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <semaphore>

#include "tests/fakes/temporary_folder.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen::serve {
namespace {

constexpr int64_t kOpeningLength = 702;  // of the opening: <system>, 699 bytes, <end>, <user>
/// More than a turn has of its own.
constexpr int64_t kTurn = 60;

/// A server that has just started.
struct Home : House {
  explicit Home(const std::filesystem::path& folder, const std::string& home = "a home")
      : store({.folder = folder}, model.kv_layout()) {
    host.session.system_prompt = home + std::string(699 - home.size(), '.');
    host.openings = &openings;
  }

  int64_t num_read() {
    const EngineLock::Hold hold(engine_lock);
    return std::accumulate(model.pass_sizes.begin(), model.pass_sizes.end(), int64_t{0});
  }
  int64_t widest_pass() {
    const EngineLock::Hold hold(engine_lock);
    return std::ranges::max(model.pass_sizes);
  }
  bool has_read(int64_t number) {
    return comes_true([&] { return num_read() >= number; });
  }
  bool has_stored(const std::string& client = "") {
    TokenIds opening = tokenizer.encode(host.session.system_prompt);
    opening.insert(opening.begin(), FakeTokenizer::kSystem);
    return comes_true([&] { return store.num_common(client, opening) > 600; });
  }

  PrefixStore store;
  PrefixCache cache{engine, engine_lock, 2048, 8, &store};
  SharedOpenings openings{engine, cache};
};

/// A realtime conversation of the client with this key.
struct Keyed {
  Keyed(House& house, const std::string& key) : connection(house.host, std::nullopt, key, false) {
    connection.on_open(client);
  }
  ~Keyed() { connection.on_close(); }
  void instruct(const std::string& words) {
    const Json session{{"type", "realtime"}, {"instructions", words}};
    connection.on_text(Json{{"type", "session.update"}, {"session", session}}.dump());
    client.next("session.updated");
  }

  FakeSender client;
  RealtimeConnection connection;
};

TEST(SharedOpenings, TheFirstTurnAfterARestartReadsOnlyWhatIsNew) {
  const TemporaryFolder folder;
  {
    Home home(folder.path());
    WyomingConversation first(home.host);
    EXPECT_TRUE(home.has_read(kOpeningLength)) << "before the first word";
    EXPECT_TRUE(home.has_stored());
    EXPECT_EQ(home.num_read(), kOpeningLength);
  }
  Home home(folder.path());
  Service service(home);
  Visit visit(service);
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
  EXPECT_LT(home.num_read(), kTurn);
  Home other(folder.path(), "another home");
  Service there(other);
  Visit elsewhere(there);
  elsewhere.say("one", "c");
  EXPECT_EQ(elsewhere.answer(), "You said: one. Go on!");
  EXPECT_GT(other.num_read(), kOpeningLength) << "it is another prompt";
}

TEST(SharedOpenings, AllConversationsOfAKeyShareOne) {
  const TemporaryFolder folder;
  Home home(folder.path());
  Service service(home);
  Visit kitchen(service, "kitchen"), bath(service, "bath");
  kitchen.say("one", "c");
  EXPECT_EQ(kitchen.answer(), "You said: one. Go on!");
  bath.say("two", "d");
  EXPECT_EQ(bath.answer(), "You said: two. Go on!");
  Talk talk(home);
  EXPECT_EQ(text_of(talk.ask("three")), "You said: three. Go on!");
  EXPECT_LT(home.num_read(), kOpeningLength + 3 * kTurn);

  const std::string words(500, '-');
  const int64_t before = home.num_read();
  Keyed mine(home, "me");
  mine.instruct(words);
  EXPECT_TRUE(home.has_read(before + 500));
  Keyed again(home, "me");
  again.instruct(words);
  EXPECT_TRUE(
      stays_true(std::chrono::milliseconds(100), [&] { return home.num_read() < before + 510; }));
  Keyed yours(home, "you");
  yours.instruct(words);
  EXPECT_TRUE(home.has_read(before + 1000)) << "what is quick tells what others have said";
}

TEST(SharedOpenings, WordsEndTheReadingAndNothingIsReadTwice) {
  const TemporaryFolder folder;
  Home home(folder.path());
  std::binary_semaphore is_running{0}, may_go_on{0};
  bool is_next = true;
  home.on_pass = [&] {
    if (!std::exchange(is_next, false)) return;
    is_running.release();
    may_go_on.acquire();
  };
  Talk talk(home);
  is_running.acquire();  // some of it is read
  talk.say("one");
  talk.respond();
  may_go_on.release();
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
  EXPECT_LT(home.num_read(), kOpeningLength + kTurn);
  const int64_t before = home.num_read();
  Talk other(home);
  EXPECT_EQ(text_of(other.ask("two")), "You said: two. Go on!");
  EXPECT_LT(home.num_read(), before + kTurn) << "what a turn has read is shared, too";
}

TEST(SharedOpenings, ReadingEndsWhenATurnHasReadAll) {
  const TemporaryFolder folder;
  Home home(folder.path());
  home.engine.yield_speculation(/*tokens_a_pass=*/1);
  // All of it takes seconds, so that a turn comes in between however busy the machine is.
  home.on_pass = [] { take(std::chrono::milliseconds(5)); };
  WyomingConversation first(home.host);
  EXPECT_TRUE(home.has_read(10));
  Talk talk(home);
  EXPECT_EQ(text_of(talk.ask("one")), "You said: one. Go on!");
  EXPECT_TRUE(comes_true([&] {
    const int64_t number = home.num_read();
    return stays_true(std::chrono::milliseconds(50), [&] { return home.num_read() == number; });
  }));
  EXPECT_LT(home.num_read(), kOpeningLength + 256 + kTurn);
}

TEST(SharedOpenings, NobodysPassIsMuchLongerForIt) {
  const TemporaryFolder folder;
  Home home(folder.path());
  home.engine.yield_speculation(/*tokens_a_pass=*/4);
  WyomingConversation first(home.host);
  EXPECT_TRUE(home.has_read(kOpeningLength));
  EXPECT_LE(home.widest_pass(), 16);
}

TEST(SharedOpenings, AConversationThatEndsIsNotWaitedFor) {
  const TemporaryFolder folder;
  Home home(folder.path());
  home.engine.yield_speculation(/*tokens_a_pass=*/1);
  { const WyomingConversation first(home.host); }
  EXPECT_LT(home.num_read(), kOpeningLength);
}

}  // namespace
}  // namespace predgen::serve
