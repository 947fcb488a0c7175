// Any bytes as a safetensors or GGUF file: either tensors that fill it, or one of the library's own errors.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "support/asking.hpp"

#include <kvbudget/input/gguf.hpp>
#include <kvbudget/input/safetensors.hpp>
#include <kvbudget/engines/llama_cpp/evaluate.hpp>
#include <kvbudget/engines/none/evaluate.hpp>
#include <kvbudget/input/gguf_document.hpp>
#include <kvbudget/input/read_weights.hpp>

namespace {

using namespace kvbudget;

/// The sums are those of the tensors, and no tensor is larger than the file.
void check(std::vector<weight_tensor> tensors, std::uint64_t size) {
  detail::weights_builder builder;
  builder.add("model", std::move(tensors));
  const model_weights w = builder.finish();
  std::uint64_t bytes = 0, by_dtype = 0, by_group = 0;
  for (const weight_tensor& t : w.tensors) bytes += t.bytes;
  for (const auto& [dtype, n] : w.bytes_by_dtype) by_dtype += n;
  for (const std::uint64_t n : w.bytes_by_group) by_group += n;
  if (w.total_bytes > size || bytes != w.total_bytes || by_dtype != bytes || by_group != bytes) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    std::istringstream stream(bytes);
    check(read_safetensors(stream, size, "model"), size);
  } catch (const config_error& e) {
    if (e.file() != "model" || e.problem().empty()) __builtin_trap();
  }
  try {
    std::istringstream stream(bytes);
    gguf_header header = read_gguf_header(stream, size, "model");
    (void)gguf_parts("model-00001-of-00002.gguf", header);
    if (header.data_end <= size) check(std::move(header.tensors), size);
  } catch (const config_error& e) {
    if (e.file().substr(0, 5) != "model" || e.problem().empty()) __builtin_trap();
  }
  try {
    std::istringstream stream(bytes);
    const detail::config::document d = detail::config::read_gguf_document(stream, size, "model");
    (void)detail::llama_cpp::evaluate(d, testing::asked({{"n_ctx", 4096}}));
    (void)detail::none::evaluate(d, testing::asked(f16, q8_0, {1000, 24, 3, {}}));
  } catch (const config_error& e) {
    if (e.file() != "model" || e.problem().empty()) __builtin_trap();
  } catch (const size_error&) {}
  return 0;
}
