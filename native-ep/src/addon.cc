// The JavaScript surface: create, run, assignment, release, computePlan, metalDevice. Work that blocks happens in
// N-API async workers and comes back as promises; a failure is a rejected promise with onnxruntime's own sentence.
#include <functional>
#include <memory>
#include <optional>

#include "arguments.h"
#include "coreml.h"

namespace laya {
namespace {

// Runs `work` off the JavaScript thread, then `finish` on it.
class Task : public Napi::AsyncWorker {
 public:
  using Finish = std::function<Napi::Value(Napi::Env)>;
  Task(Napi::Env env, std::function<void()> work, Finish finish)
      : Napi::AsyncWorker(env, "laya-native-ep"), deferred_(env), work_(std::move(work)), finish_(std::move(finish)) {}

  static Napi::Promise Start(Napi::Env env, std::function<void()> work, Finish finish) {
    auto* task = new Task(env, std::move(work), std::move(finish));  // freed by AsyncWorker after OnOK or OnError
    Napi::Promise promise = task->deferred_.Promise();
    task->Queue();
    return promise;
  }

 protected:
  void Execute() override {
    try {
      work_();
    } catch (const std::exception& error) {
      SetError(error.what());
    }
  }
  void OnOK() override {
    try {
      deferred_.Resolve(finish_(Env()));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  std::function<void()> work_;
  Finish finish_;
};

Napi::Value List(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array list = Napi::Array::New(env, texts.size());
  for (size_t i = 0; i < texts.size(); ++i) list.Set(static_cast<uint32_t>(i), texts[i]);
  return list;
}

class SessionObject : public Napi::ObjectWrap<SessionObject> {
 public:
  static Napi::FunctionReference& Constructor(Napi::Env env) { return *env.GetInstanceData<Napi::FunctionReference>(); }
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "NativeSession",
                       {InstanceAccessor<&SessionObject::Inputs>("inputs"),
                        InstanceAccessor<&SessionObject::Outputs>("outputs"),
                        InstanceMethod<&SessionObject::Run>("run"),
                        InstanceMethod<&SessionObject::Assignment>("assignment"),
                        InstanceMethod<&SessionObject::Release>("release")});
  }
  explicit SessionObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SessionObject>(info) {
    // Only `create` may make one: it passes the finished session as an External.
    if (info.Length() != 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "use create()");
    session_ = *info[0].As<Napi::External<std::shared_ptr<Session>>>().Data();
  }

 private:
  // Methods can be taken off the prototype and called on anything; the session is then simply absent.
  std::shared_ptr<Session> Open(Napi::Env env) const {
    if (!session_) throw Napi::TypeError::New(env, "not a native session");
    return session_;
  }
  Napi::Value Inputs(const Napi::CallbackInfo& info) { return List(info.Env(), Open(info.Env())->inputs()); }
  Napi::Value Outputs(const Napi::CallbackInfo& info) { return List(info.Env(), Open(info.Env())->outputs()); }

  Napi::Value Run(const Napi::CallbackInfo& info) {
    auto session = Open(info.Env());
    auto kept = std::make_shared<std::vector<Napi::Reference<Napi::TypedArray>>>();
    auto feeds = std::make_shared<std::vector<Tensor>>(ReadFeeds(info[0], kept.get()));
    auto outputs = std::make_shared<std::vector<Output>>();
    return Task::Start(
        info.Env(), [=] { *outputs = session->Run(*feeds); },
        [outputs, kept](Napi::Env env) -> Napi::Value {
          Napi::Object result = Napi::Object::New(env);
          for (const Output& output : *outputs) {
            Napi::Array dims = Napi::Array::New(env, output.dims.size());
            for (size_t i = 0; i < output.dims.size(); ++i) dims.Set(static_cast<uint32_t>(i), static_cast<double>(output.dims[i]));
            Napi::Float32Array data = Napi::Float32Array::New(env, output.data.size());
            std::copy(output.data.begin(), output.data.end(), data.Data());
            Napi::Object tensor = Napi::Object::New(env);
            tensor.Set("dims", dims);
            tensor.Set("data", data);
            result.Set(output.name, tensor);
          }
          return result;
        });
  }

  Napi::Value Assignment(const Napi::CallbackInfo& info) {
    auto session = Open(info.Env());
    auto partitions = std::make_shared<std::vector<Partition>>();
    return Task::Start(
        info.Env(), [=] { *partitions = session->Assignment(); },
        [partitions](Napi::Env env) -> Napi::Value {
          Napi::Array list = Napi::Array::New(env, partitions->size());
          for (size_t i = 0; i < partitions->size(); ++i) {
            const Partition& partition = (*partitions)[i];
            Napi::Array nodes = Napi::Array::New(env, partition.nodes.size());
            for (size_t n = 0; n < partition.nodes.size(); ++n) {
              Napi::Object node = Napi::Object::New(env);
              node.Set("name", partition.nodes[n].name);
              node.Set("op", partition.nodes[n].op);
              nodes.Set(static_cast<uint32_t>(n), node);
            }
            Napi::Object entry = Napi::Object::New(env);
            entry.Set("provider", partition.provider);
            entry.Set("nodes", nodes);
            list.Set(static_cast<uint32_t>(i), entry);
          }
          return list;
        });
  }

  Napi::Value Release(const Napi::CallbackInfo& info) {
    auto session = Open(info.Env());
    return Task::Start(
        info.Env(), [=] { session->Release(); }, [](Napi::Env env) { return env.Undefined(); });
  }

  std::shared_ptr<Session> session_;
};

Napi::Value Create(const Napi::CallbackInfo& info) {
  auto options = std::make_shared<SessionOptions>(ReadSessionOptions(info[0]));
  auto session = std::make_shared<std::shared_ptr<Session>>();
  return Task::Start(
      info.Env(), [=] { *session = std::make_shared<Session>(*options); },
      [session](Napi::Env env) -> Napi::Value {
        return SessionObject::Constructor(env).New({Napi::External<std::shared_ptr<Session>>::New(env, session.get())});
      });
}

Napi::Value Plan(const Napi::CallbackInfo& info) {
  std::string bundle = ReadText(info[0], "bundle");
  std::string units = ReadText(info[1], "units");
  auto plan = std::make_shared<ComputePlan>();
  return Task::Start(
      info.Env(), [=] { *plan = ReadComputePlan(bundle, units); },
      [plan](Napi::Env env) -> Napi::Value {
        Napi::Array devices = Napi::Array::New(env, plan->devices.size());
        for (size_t i = 0; i < plan->devices.size(); ++i) {
          Napi::Object device = Napi::Object::New(env);
          device.Set("device", plan->devices[i].device);
          device.Set("cost", plan->devices[i].cost);
          device.Set("operations", plan->devices[i].operations);
          devices.Set(static_cast<uint32_t>(i), device);
        }
        Napi::Object result = Napi::Object::New(env);
        result.Set("devices", devices);
        result.Set("cpuOperators", List(env, plan->cpu_operators));
        return result;
      });
}

Napi::Value Metal(const Napi::CallbackInfo& info) {
  MetalDevice device = ReadMetalDevice();
  if (!device.present) return info.Env().Null();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("name", device.name);
  result.Set("recommendedBytes", static_cast<double>(device.recommended_bytes));
  result.Set("allocatedBytes", static_cast<double>(device.allocated_bytes));
  return result;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  // Instance data, not a global: each worker thread that loads the addon gets its own constructor.
  env.SetInstanceData(new Napi::FunctionReference(Napi::Persistent(SessionObject::Define(env))));
  exports.Set("create", Napi::Function::New(env, Create));
  exports.Set("computePlan", Napi::Function::New(env, Plan));
  exports.Set("metalDevice", Napi::Function::New(env, Metal));
  return exports;
}

}  // namespace
}  // namespace laya

static Napi::Object Init(Napi::Env env, Napi::Object exports) { return laya::Init(env, exports); }
NODE_API_MODULE(laya_native_ep, Init)
