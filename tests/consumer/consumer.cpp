#include <fmt/format.h>

#include <kvbudget/config/transformers.hpp>

int main() {
  using kvbudget::config::json;
  const kvbudget::config::document config{json::parse(R"({"model_type": "llama", "num_hidden_layers": 32,
                                                          "num_attention_heads": 32, "num_key_value_heads": 8,
                                                          "hidden_size": 4096})"),
                                          "config.json"};
  const json settings = {{"cache", "dynamic"}, {"dtype", "bfloat16"}, {"batch", 1}, {"seq_len", 4096}};
  fmt::print("{}\n", kvbudget::transformers::evaluate(config, settings).total_bytes);
}
