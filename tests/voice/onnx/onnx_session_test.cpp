#include "voice/onnx/onnx_session.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/onnx_file.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::ElementsAre;

constexpr auto kFloat = OnnxFile::Type::kFloat, kInt64 = OnnxFile::Type::kInt64;

struct OnnxSessionTest : testing::Test {
  void SetUp() override {
    if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  }

  /// twice = x + x, count = y as float32.
  static std::string small_network() {
    OnnxFile file;
    file.add_input("x", kFloat);
    file.add_input("y", kInt64);
    file.add_node("Add", {"x", "x"}, "twice");
    file.add_node("Cast", {"y"}, "count", OnnxFile::integer_attribute("to", 1));
    file.add_output("twice", kFloat);
    file.add_output("count", kFloat);
    return file.contents();
  }

  std::filesystem::path write(const std::string& contents) const {
    write_file(folder / "network.onnx", contents);
    return folder / "network.onnx";
  }

  TemporaryFolder folder;
};

TEST_F(OnnxSessionTest, RunsANetworkOverFloatsAndIntegers) {
  const OnnxSession session(write(small_network()));
  EXPECT_THAT(session.inputs(), ElementsAre("x", "y"));
  EXPECT_THAT(session.outputs(), ElementsAre("twice", "count"));
  const at::Tensor x = at::tensor({1.5F, -2.0F}), y = at::tensor({int64_t{7}});
  const auto outputs = session.run({{"x", x}, {"y", y}}, {"count", "twice"});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(at::equal(outputs[0], at::tensor({7.0F})));
  EXPECT_TRUE(at::equal(outputs[1], at::tensor({3.0F, -4.0F})));
}

TEST_F(OnnxSessionTest, TakesTensorsThatAreNotContiguousAndGivesSoundOnesAfterItsEnd) {
  at::Tensor twice;
  {
    const OnnxSession session(write(small_network()));
    const at::Tensor x = at::arange(6, at::kFloat).slice(0, 0, 6, 2);
    twice = session.run({{"x", x}, {"y", at::tensor({int64_t{1}})}}, {"twice"}).front();
  }
  EXPECT_TRUE(at::equal(twice, at::tensor({0.0F, 4.0F, 8.0F})));
}

TEST_F(OnnxSessionTest, ThreadsShareASession) {
  for (const int64_t own_threads : {1, 3}) {
    const OnnxSession session(write(small_network()), {.threads = own_threads});
    std::vector<int> wrong(4);
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < wrong.size(); ++i) {
        threads.emplace_back([&, i] {
          for (int64_t k = 1; k <= 200; ++k) {
            const at::Tensor x = at::full({k}, static_cast<double>(i), at::kFloat);
            const auto outputs = session.run({{"x", x}, {"y", at::tensor({k})}}, {"twice"});
            if (!at::equal(outputs.front(), x * 2)) ++wrong[i];
          }
        });
      }
    }
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
  }
}

TEST_F(OnnxSessionTest, InputsThatTheNetworkCannotTakeAreErrors) {
  const OnnxSession session(write(small_network()));
  const at::Tensor x = at::tensor({1.0F}), y = at::tensor({int64_t{1}});
  EXPECT_THROW(session.run({{"x", y}, {"y", y}}, {"twice"}), Error);   // another type
  EXPECT_THROW(session.run({{"z", x}, {"y", y}}, {"twice"}), Error);   // another name
  EXPECT_THROW(session.run({{"x", x}, {"y", y}}, {"thrice"}), Error);  // no such output
  EXPECT_EQ(session.run({{"x", x}, {"y", y}}, {"twice"}).size(), 1U);  // and it goes on
}

TEST_F(OnnxSessionTest, OutputsThatAreNotFloatsAreErrors) {
  OnnxFile file;
  file.add_input("y", kInt64);
  file.add_node("Add", {"y", "y"}, "twice");
  file.add_output("twice", kInt64);
  const OnnxSession session(write(file.contents()));
  EXPECT_THROW(session.run({{"y", at::tensor({int64_t{1}})}}, {"twice"}), Error);
}

TEST_F(OnnxSessionTest, FilesThatCannotBeUsedAreUserErrorsOfALine) {
  const auto open = [](const std::filesystem::path& file) {
    return [file] { OnnxSession session(file); };
  };
  expect_user_error(open("/nowhere.onnx"), {"/nowhere.onnx: no such file"});
  expect_user_error(open(folder.path()), {"no such file"});
  const std::string whole = small_network();
  expect_user_error(open(write(whole.substr(0, whole.size() / 2))), {"network.onnx", "fetch"});
  expect_user_error(open(write("")), {"network.onnx", "fetch"});
  OnnxFile unknown;
  unknown.add_input("x", kFloat);
  unknown.add_node("Telepathy", {"x"}, "thought");
  unknown.add_output("thought", kFloat);
  expect_user_error(open(write(unknown.contents())), {"network.onnx", "Telepathy"});
  expect_user_error([&] { OnnxSession session(write(whole), {.threads = 0}); }, {"threads", "0"});
}

TEST_F(OnnxSessionTest, GraphsOfAnotherKindAreNamed) {
  const OnnxSession session(write(small_network()));
  check_graph(session, {"x"}, {"twice"}, "sums");
  expect_user_error(
      [&] {
        check_graph(session, {"x", "z"}, {}, "sums");
      },
      {"network.onnx: is no network of sums: it has no input 'z'"});
  expect_user_error([&] { check_graph(session, {}, {"x"}, "sums"); }, {"no output 'x'"});
}

TEST_F(OnnxSessionTest, LibrariesThatAreNoOnnxRuntimeAreUserErrors) {
  EXPECT_NE(OnnxRuntime::open()->env(), nullptr);
  expect_user_error([] { OnnxRuntime::open("/nowhere.so"); }, {"/nowhere.so", "setup.sh"});
  expect_user_error([] { OnnxRuntime::open("libm.so.6"); }, {"libm.so.6: is no ONNX Runtime"});
}

}  // namespace
}  // namespace predgen
