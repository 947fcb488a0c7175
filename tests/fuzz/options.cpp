// Any JSON as options of an engine: either an answer, or an error that names the option.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/asking.hpp"

#include <kvbudget/engines/transformers/evaluate.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvbudget;
  static const detail::config::document d = detail::config::parse_document(
      R"({"model_type": "gemma2", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 16, "sliding_window": 8, "dtype": "bfloat16"})",
      "config.json");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const detail::config::json options = detail::config::parse_document(text, "options").root;
    const engine_answer e = detail::transformers::evaluate(d, testing::asked(options));
    if (e.refusal.empty() && e.layers.size() != 3) __builtin_trap();
  } catch (const input_error& e) {
    if (e.problem().empty()) __builtin_trap();
  } catch (const size_error&) {}
  return 0;
}
