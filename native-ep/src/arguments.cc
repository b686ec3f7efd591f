#include "arguments.h"

#include <cmath>

namespace laya {
namespace {

[[noreturn]] void Refuse(Napi::Env env, const std::string& sentence) { throw Napi::TypeError::New(env, sentence); }

Napi::Object ReadObject(const Napi::Value& value, const std::string& name) {
  if (!value.IsObject() || value.IsArray() || value.IsFunction() || value.IsTypedArray()) {
    Refuse(value.Env(), name + " must be an object");
  }
  return value.As<Napi::Object>();
}

Pairs ReadPairs(const Napi::Value& value, const char* name) {
  Pairs pairs;
  if (value.IsUndefined()) return pairs;
  Napi::Object object = ReadObject(value, name);
  Napi::Array keys = object.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    Napi::Value key = keys[i];
    pairs.emplace_back(ReadText(key.ToString(), name), ReadText(object.Get(key), name));
  }
  return pairs;
}

int ReadInteger(const Napi::Value& value, const char* name, int low, int high, int otherwise) {
  if (value.IsUndefined()) return otherwise;
  double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(number >= low && number <= high) || number != std::floor(number)) {
    Refuse(value.Env(), std::string(name) + " must be an integer between " + std::to_string(low) + " and " + std::to_string(high));
  }
  return static_cast<int>(number);
}

struct Kind {
  ElementType type;
  napi_typedarray_type array;
  size_t bytes;
};

Kind ReadKind(const Napi::Value& value, const std::string& name) {
  std::string type = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
  if (type == "float32") return {kFloat, napi_float32_array, 4};
  if (type == "float16") return {kFloat16, napi_uint16_array, 2};
  if (type == "int64") return {kInt64, napi_bigint64_array, 8};
  if (type == "int32") return {kInt32, napi_int32_array, 4};
  Refuse(value.Env(), "feed '" + name + "' has an unknown type; use float32, float16, int64 or int32");
}

std::vector<int64_t> ReadDims(const Napi::Value& value, const std::string& name, size_t elements) {
  if (!value.IsArray()) Refuse(value.Env(), "feed '" + name + "' needs a list of dims");
  Napi::Array list = value.As<Napi::Array>();
  if (list.Length() > 8) Refuse(value.Env(), "feed '" + name + "' has more than 8 dims");
  std::vector<int64_t> dims;
  double product = 1;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    Napi::Value item = list[i];
    double dim = item.IsNumber() ? item.As<Napi::Number>().DoubleValue() : NAN;
    if (!(dim >= 0 && dim <= 2147483647.0) || dim != std::floor(dim)) {
      Refuse(value.Env(), "feed '" + name + "' has a dim that is not a whole number");
    }
    dims.push_back(static_cast<int64_t>(dim));
    product *= dim;
  }
  if (product != static_cast<double>(elements)) Refuse(value.Env(), "feed '" + name + "' has dims that do not match its data");
  return dims;
}

}  // namespace

std::string ReadText(const Napi::Value& value, const char* name) {
  if (!value.IsString()) Refuse(value.Env(), std::string(name) + " must be text");
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.size() > 4096 || text.find('\0') != std::string::npos) {
    Refuse(value.Env(), std::string(name) + " must be at most 4096 bytes without NUL");
  }
  return text;
}

SessionOptions ReadSessionOptions(const Napi::Value& value) {
  Napi::Object object = ReadObject(value, "options");
  SessionOptions options;
  options.library = ReadText(object.Get("library"), "library");
  options.model = ReadText(object.Get("model"), "model");
  options.provider = ReadText(object.Get("provider"), "provider");
  options.provider_options = ReadPairs(object.Get("providerOptions"), "providerOptions");
  options.config = ReadPairs(object.Get("config"), "config");
  options.threads = ReadInteger(object.Get("threads"), "threads", 0, 1024, 0);
  options.optimization = ReadInteger(object.Get("optimization"), "optimization", 0, 99, 0);
  options.severity = ReadInteger(object.Get("severity"), "severity", 0, 4, 2);
  if (options.optimization > 3 && options.optimization != 99) Refuse(value.Env(), "optimization must be 0, 1, 2, 3 or 99");
  return options;
}

std::vector<Tensor> ReadFeeds(const Napi::Value& value, std::vector<Napi::Reference<Napi::TypedArray>>* kept) {
  Napi::Object object = ReadObject(value, "feeds");
  Napi::Array names = object.GetPropertyNames();
  std::vector<Tensor> feeds;
  for (uint32_t i = 0; i < names.Length(); ++i) {
    Napi::Value key = names[i];
    std::string name = ReadText(key.ToString(), "feed name");
    Napi::Object feed = ReadObject(object.Get(key), "feed '" + name + "'");
    Kind kind = ReadKind(feed.Get("type"), name);
    Napi::Value data = feed.Get("data");
    if (!data.IsTypedArray() || data.As<Napi::TypedArray>().TypedArrayType() != kind.array) {
      Refuse(value.Env(), "feed '" + name + "' has data of another type than it says");
    }
    Napi::TypedArray array = data.As<Napi::TypedArray>();
    // A backing store that another thread can change or detach is refused: the run reads it in place.
    if (!array.Get("buffer").IsArrayBuffer()) Refuse(value.Env(), "feed '" + name + "' must not use shared memory");
    std::vector<int64_t> dims = ReadDims(feed.Get("dims"), name, array.ElementLength());
    auto* start = static_cast<uint8_t*>(array.ArrayBuffer().Data());
    static uint64_t empty = 0;
    void* bytes = start ? static_cast<void*>(start + array.ByteOffset()) : static_cast<void*>(&empty);
    feeds.push_back({name, kind.type, std::move(dims), bytes, array.ByteLength()});
    kept->push_back(Napi::Reference<Napi::TypedArray>::New(array, 1));
  }
  return feeds;
}

}  // namespace laya
