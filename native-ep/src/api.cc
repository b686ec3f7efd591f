#include "api.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace laya {

const Api& Api::Load(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Api>> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  auto& api = loaded[library];
  if (!api) api.reset(new Api(library));
  return *api;
}

Api::Api(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(std::string("the onnxruntime library could not be loaded: ") + dlerror());
  struct ApiBase {
    const void* const* (*get_api)(uint32_t version);
    const char* (*get_version)();
  };
  auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (!base) throw std::runtime_error("the library has no OrtGetApiBase: it is not onnxruntime");
  table_ = base()->get_api(kApiVersion);
  if (!table_) {
    throw std::runtime_error(std::string("onnxruntime ") + base()->get_version() +
                             " is too old: C API version 30 is needed");
  }
  // Level 3 = errors only: the environment is shared with the process, sessions set their own level.
  Call(kCreateEnv, 3, static_cast<const char*>("laya-native-ep"), &env_);
}

void Api::Check(Status status) const {
  if (!status) return;
  auto message = reinterpret_cast<const char* (*)(const void*)>(const_cast<void*>(table_[kGetErrorMessage]));
  std::string text = message(status);
  Release(kReleaseStatus, status);
  throw std::runtime_error(text);
}

}  // namespace laya
