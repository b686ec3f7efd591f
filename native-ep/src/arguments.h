// Everything that comes from JavaScript is checked here, before native code sees it.
#pragma once
#define NAPI_VERSION 8
#include <napi.h>

#include "session.h"

namespace laya {

// Each throws Napi::TypeError naming the member at fault.
SessionOptions ReadSessionOptions(const Napi::Value& value);
std::vector<Tensor> ReadFeeds(const Napi::Value& value, std::vector<Napi::Reference<Napi::TypedArray>>* kept);
std::string ReadText(const Napi::Value& value, const char* name);

}  // namespace laya
