// Any bytes as a config: either a model whose cache is costed, or one of the library's own errors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kvbudget/engines/transformers/evaluate.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvbudget;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const detail::config::document d = detail::config::parse_document(text, "config.json");
    for (const detail::config::engine_version& version :
         {detail::transformers::newest_version, detail::transformers::oldest_version}) {
      detail::transformers::read_options options;
      options.version = version;
      options.k_type = options.v_type = options.model_type = bf16;
      try {
        const detail::transformers::cached_model m = detail::transformers::read_model(d, options);
        const uniform_batch batch{request(tokens(1000), tokens(24), tokens(100)), 3};
        const footprint dynamic = total_footprint(m.layers, detail::transformers::dynamic_cache{}, batch);
        const footprint storage = total_footprint(m.layers, detail::transformers::dynamic_cache_storage{}, batch);
        (void)total_footprint(m.layers, detail::transformers::static_cache{tokens(2048), tokens()}, batch);
        (void)total_footprint(m.layers, stored_positions{}, batch);
        // What a view keeps alive is never less than the view.
        if (storage.total().valid() && !dynamic.total().fits(storage.total().value())) __builtin_trap();
        if (m.layers.layers().size() > 2 * max_layers) __builtin_trap();
      } catch (const config_error&) {
      } catch (const size_error&) {}
    }
  } catch (const config_error& e) {
    if (e.file() != "config.json" || e.problem().empty()) __builtin_trap();
  }
  return 0;
}
