// Random layers and models, small enough to be searched by plain loops.
#pragma once

#include <string>

#include <kvbudget/config/model.hpp>

#include "random.hpp"

namespace testing {

inline kvbudget::kv_row random_row(random& r) {
  using namespace kvbudget;
  return {r.between(1, 3), 8 * r.between(1, 3), r.one_of({f32, f16, bf16, fp8_e4m3, int8, int4, int2})};
}

/// A part of a layer. `any_policy`: only kinds that every general policy and every cache class has a rule for.
inline kvbudget::layer_part random_part(random& r, bool any_policy = false) {
  using namespace kvbudget;
  const kv_row k = random_row(r), v = random_row(r);
  const tokens window(r.between(1, 40));
  switch (r.next() % (any_policy ? 9 : 13)) {
    case 0:
    case 1: return full_attention{k, v};
    case 2: return sliding_window_attention{k, v, window};
    case 3: return chunked_local_attention{k, v, window};
    case 4: return mla_attention{k, v};
    case 5: return index_keys{k};
    case 6: return cross_attention{k, v};
    case 7: return recurrent_state{r.between(0, 50) * 8, v.type};
    case 8: return r.coin() ? layer_part(shared_kv{}) : layer_part(no_cache{});
    case 9: return sink_window_attention{k, v, tokens(r.between(0, 10)), window};
    case 10: return ring_buffer_attention{k, v, window};
    case 11: return segment_memory{k, window};
    default: return reference_window_attention{k, v, window};
  }
}

inline kvbudget::model random_model(random& r, bool any_policy = false) {
  kvbudget::model m;
  const std::uint64_t layers = r.between(1, 6);
  for (std::uint64_t i = 0; i < layers; ++i) {
    kvbudget::cache_layer layer{"layer", {random_part(r, any_policy)}};
    if (r.next() % 4 == 0) layer.parts.push_back(random_part(r, any_policy));
    const std::uint64_t copies = r.between(1, 3);
    for (std::uint64_t copy = 0; copy < copies; ++copy) m.add(static_cast<std::int64_t>(i), layer);
  }
  return m;
}

}  // namespace testing
