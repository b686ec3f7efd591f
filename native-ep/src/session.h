#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api.h"

namespace laya {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct SessionOptions {
  std::string library, model, provider;
  Pairs provider_options, config;
  int threads = 0, optimization = 0, severity = 2;
};

struct Tensor {
  std::string name;
  ElementType type;
  std::vector<int64_t> dims;
  void* data;
  size_t bytes;
};

struct Output {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> data;
};

struct AssignedNode {
  std::string name, op;
};
struct Partition {
  std::string provider;
  std::vector<AssignedNode> nodes;
};

// One loaded graph. Calls block, so they are made from N-API async workers; the Core ML provider serialises
// runs of one session anyway, hence one mutex.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::vector<Output> Run(const std::vector<Tensor>& feeds);
  std::vector<Partition> Assignment();
  // Frees the network at once; later calls throw.
  void Release();

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  std::vector<std::string> Names(Slot count, Slot name);
  void RequireOpen() const;

  const Api& api_;
  std::mutex mutex_;
  void* session_ = nullptr;
  void* memory_ = nullptr;
  bool recorded_ = false;
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace laya
