#include "session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace laya {
namespace {

constexpr char kRecordAssignment[] = "session.record_ep_graph_assignment_info";

struct Released {
  const Api* api;
  Slot slot;
  void operator()(void* object) const { api->Release(slot, object); }
};
using Handle = std::unique_ptr<void, Released>;

Handle Own(const Api& api, Slot slot, void* object) { return Handle(object, Released{&api, slot}); }

Output ReadOutput(const Api& api, void* value, const std::string& name) {
  void* raw = nullptr;
  api.Call(kGetTensorTypeAndShape, static_cast<const void*>(value), &raw);
  Handle shape = Own(api, kReleaseTensorTypeAndShapeInfo, raw);
  const void* info = shape.get();
  int type = 0;
  size_t rank = 0;
  api.Call(kGetTensorElementType, info, &type);
  if (type != kFloat) throw std::runtime_error("output '" + name + "' is not float32");
  api.Call(kGetDimensionsCount, info, &rank);
  Output output{name, std::vector<int64_t>(rank), {}};
  api.Call(kGetDimensions, info, output.dims.data(), rank);
  size_t count = 1;
  for (int64_t dim : output.dims) count *= static_cast<size_t>(dim);
  void* data = nullptr;
  api.Call(kGetTensorMutableData, value, &data);
  output.data.resize(count);
  if (count) std::memcpy(output.data.data(), data, count * sizeof(float));
  return output;
}

}  // namespace

Session::Session(const SessionOptions& options) : api_(Api::Load(options.library)) {
  void* raw = nullptr;
  api_.Call(kCreateSessionOptions, &raw);
  Handle handle = Own(api_, kReleaseSessionOptions, raw);
  api_.Call(kSetSessionLogSeverityLevel, raw, options.severity);
  api_.Call(kSetSessionGraphOptimizationLevel, raw, options.optimization);
  if (options.threads > 0) api_.Call(kSetIntraOpNumThreads, raw, options.threads);
  for (const auto& [key, value] : options.config) {
    api_.Call(kAddSessionConfigEntry, raw, key.c_str(), value.c_str());
    if (key == kRecordAssignment && value == "1") recorded_ = true;
  }
  if (options.provider != "cpu") {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options.provider_options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    api_.Call(kSessionOptionsAppendExecutionProvider, raw, options.provider.c_str(),
              static_cast<const char* const*>(keys.data()), static_cast<const char* const*>(values.data()), keys.size());
  }
  void* session = nullptr;
  api_.Call(kCreateSession, static_cast<const void*>(api_.env()), options.model.c_str(),
            static_cast<const void*>(raw), &session);
  session_ = session;
  try {
    api_.Call(kCreateCpuMemoryInfo, 1 /* arena */, 0 /* default */, &memory_);
    inputs_ = Names(kSessionGetInputCount, kSessionGetInputName);
    outputs_ = Names(kSessionGetOutputCount, kSessionGetOutputName);
  } catch (...) {
    Release();
    throw;
  }
}

Session::~Session() { Release(); }

void Session::Release() {
  std::lock_guard<std::mutex> lock(mutex_);
  api_.Release(kReleaseMemoryInfo, memory_);
  api_.Release(kReleaseSession, session_);
  memory_ = session_ = nullptr;
}

void Session::RequireOpen() const {
  if (!session_) throw std::runtime_error("the session was released");
}

std::vector<std::string> Session::Names(Slot count_slot, Slot name_slot) {
  void* allocator = nullptr;
  api_.Call(kGetAllocatorWithDefaultOptions, &allocator);
  size_t count = 0;
  api_.Call(count_slot, static_cast<const void*>(session_), &count);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    api_.Call(name_slot, static_cast<const void*>(session_), i, allocator, &name);
    names.emplace_back(name);
    api_.Call(kAllocatorFree, allocator, static_cast<void*>(name));
  }
  return names;
}

std::vector<Output> Session::Run(const std::vector<Tensor>& feeds) {
  std::lock_guard<std::mutex> lock(mutex_);
  RequireOpen();
  for (const std::string& name : inputs_) {
    bool fed = std::any_of(feeds.begin(), feeds.end(), [&](const Tensor& feed) { return feed.name == name; });
    if (!fed) throw std::runtime_error("input '" + name + "' is missing");
  }
  std::vector<Handle> owned;
  std::vector<const char*> input_names, output_names;
  std::vector<const void*> inputs;
  for (const Tensor& feed : feeds) {
    void* value = nullptr;
    api_.Call(kCreateTensorWithDataAsOrtValue, static_cast<const void*>(memory_), feed.data, feed.bytes,
              feed.dims.data(), feed.dims.size(), static_cast<int>(feed.type), &value);
    owned.push_back(Own(api_, kReleaseValue, value));
    inputs.push_back(value);
    input_names.push_back(feed.name.c_str());
  }
  for (const std::string& name : outputs_) output_names.push_back(name.c_str());
  std::vector<void*> raw(outputs_.size(), nullptr);
  api_.Call(kRun, session_, static_cast<const void*>(nullptr), input_names.data(), inputs.data(), inputs.size(),
            output_names.data(), output_names.size(), raw.data());
  for (void* value : raw) owned.push_back(Own(api_, kReleaseValue, value));
  std::vector<Output> outputs;
  for (size_t i = 0; i < raw.size(); ++i) outputs.push_back(ReadOutput(api_, raw[i], outputs_[i]));
  return outputs;
}

std::vector<Partition> Session::Assignment() {
  std::lock_guard<std::mutex> lock(mutex_);
  RequireOpen();
  if (!recorded_) throw std::runtime_error(std::string("assignment needs the config entry ") + kRecordAssignment + " = 1");
  const void* const* subgraphs = nullptr;
  size_t count = 0;
  api_.Call(kSessionGetEpGraphAssignmentInfo, static_cast<const void*>(session_), &subgraphs, &count);
  std::vector<Partition> partitions;
  for (size_t i = 0; i < count; ++i) {
    const char* provider = nullptr;
    api_.Call(kEpAssignedSubgraphGetEpName, subgraphs[i], &provider);
    const void* const* nodes = nullptr;
    size_t node_count = 0;
    api_.Call(kEpAssignedSubgraphGetNodes, subgraphs[i], &nodes, &node_count);
    Partition partition{provider, {}};
    for (size_t n = 0; n < node_count; ++n) {
      const char *name = nullptr, *op = nullptr;
      api_.Call(kEpAssignedNodeGetName, nodes[n], &name);
      api_.Call(kEpAssignedNodeGetOperatorType, nodes[n], &op);
      partition.nodes.push_back({name, op});
    }
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

}  // namespace laya
