#include "model/stream_priority.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <array>
#include <utility>
#include <vector>

#include "tests/fakes/fake_streams.h"

namespace predgen {
namespace {

TEST(StreamPriority, AStreamComesAfterWhatWasLoaded) {
  FakeStreams streams;
  streams.work("load");
  const c10::Stream high = make_stream(FakeStreams::device(), StreamPriority::kHigh);
  const c10::Stream low = make_stream(FakeStreams::device(), StreamPriority::kLow);
  EXPECT_TRUE(FakeStreams::is_of_high_priority(high));
  EXPECT_FALSE(FakeStreams::is_of_high_priority(low));
  {
    const c10::StreamGuard guard(high);
    streams.work("pass");
  }
  {
    const c10::StreamGuard guard(low);
    streams.work("voice");
  }
  streams.work("more");
  EXPECT_TRUE(streams.comes_before("load", "pass"));
  EXPECT_TRUE(streams.comes_before("load", "voice"));
  EXPECT_FALSE(streams.comes_before("pass", "voice"));
  EXPECT_FALSE(streams.comes_before("pass", "more"));
}

/// What LibTorch's allocator was told.
std::vector<std::pair<const void*, c10::StreamId>>& uses() {
  static std::vector<std::pair<const void*, c10::StreamId>> all;
  return all;
}
void note_use(at::Tensor& tensor, c10::Stream stream) {
  uses().emplace_back(tensor.const_data_ptr(), stream.id());
}

/// A pass on another stream than the one that loaded a model: the model's memory must outlast it.
TEST(StreamPriority, MemoryOfAnotherStreamIsKeptForTheWorkOfThisOne) {
  const FakeStreams streams;
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  library.impl("record_stream", TORCH_FN(note_use));
  std::array<float, 4> values{}, more{};
  const auto on_gpu = [](std::array<float, 4>& memory) {
    return at::for_blob(memory.data(), {4})
        .options(at::TensorOptions(at::kFloat).device(FakeStreams::device()))
        .target_device(FakeStreams::device())
        .make_tensor();
  };
  const at::Tensor first = on_gpu(values), second = on_gpu(more), host = at::zeros({4});
  uses().clear();
  const c10::Stream stream = make_stream(FakeStreams::device(), StreamPriority::kHigh);
  const c10::StreamGuard guard(stream);
  use_on_current_stream({first, host, second});
  const std::vector<std::pair<const void*, c10::StreamId>> expected{{values.data(), stream.id()},
                                                                    {more.data(), stream.id()}};
  EXPECT_EQ(uses(), expected);
}

}  // namespace
}  // namespace predgen
