// Any numbers as layers, policies and requests: a size or a failure, never a wrapped one, and exact inverses.
#include <cstddef>
#include <cstdint>

#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>
#include <kvbudget/config/model.hpp>

namespace {

using namespace kvbudget;

/// Numbers from the input; 0 when it is used up. The first byte of each says how many follow.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned bytes = byte() % 9U; bytes != 0; --bytes) value = value << 8U | byte();
    return value;
  }
  std::uint8_t byte() { return at_ != end_ ? *at_++ : std::uint8_t{0}; }
  bool empty() const { return at_ == end_; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

storage_type type_of(std::uint8_t choice) {
  constexpr storage_type types[] = {f32,  f16,  bf16, fp8_e4m3, int8,  int4,  int2, q8_0,
                                    q4_0, q4_1, q5_0, q5_1,     nvfp4, mxfp4, mxfp8};
  return types[choice % (sizeof types / sizeof *types)];
}

layer_part part_of(input& in) {
  const std::uint8_t kind = in.byte();
  const kv_row k{in.number(), in.number(), type_of(in.byte())}, v{in.number(), in.number(), type_of(in.byte())};
  const tokens window(in.number());
  switch (kind % 12) {
    case 0: return full_attention{k, v};
    case 1: return sliding_window_attention{k, v, window};
    case 2: return chunked_local_attention{k, v, window};
    case 3: return sink_window_attention{k, v, tokens(in.number()), window};
    case 4: return ring_buffer_attention{k, v, window};
    case 5: return reference_window_attention{k, v, window};
    case 6: return mla_attention{k, v};
    case 7: return index_keys{k};
    case 8: return cross_attention{k, v, window};
    case 9: return recurrent_state{in.number(), k.type};
    case 10: return segment_memory{k, window};
    default: return compressed_keys{k, in.number(), in.number(), v.type};
  }
}

template <class Policy>
void check(const model& m, const Policy& policy, const uniform_batch& batch, bytes budget) {
  const cache_formula cache{m, policy};
  const checked_count total = cache.footprint_of(batch).total();
  if (total.valid() && batch.sequences > 1) {
    // One sequence takes a whole part of it.
    const checked_count one = cache.footprint_of(uniform_batch{batch.each, 1}).total();
    if (!one.valid() || !(one * batch.sequences == total)) {
      // HQQ and quanto group across sequences, so these are not multiples of one.
      if constexpr (!std::same_as<Policy, detail::transformers::quantized_cache>) __builtin_trap();
    }
  }
  try {
    const limit longest = cache.max_length(budget, batch.sequences, batch.each.prompt, batch.each.encoder);
    const auto fits = [&](std::uint64_t n) {
      const std::uint64_t prompt = n < batch.each.prompt.count() ? n : batch.each.prompt.count();
      return cache.fits(uniform_batch{request(tokens(prompt), tokens(n - prompt), batch.each.encoder), batch.sequences},
                        budget);
    };
    if (fits(longest.value) == longest.none) __builtin_trap();
    if (!longest.unbounded && !longest.none && fits(longest.value + 1)) __builtin_trap();
    (void)cache.max_sequences(budget, batch.each);
    (void)cache.max_tokens(budget, batch.each.prompt);
  } catch (const size_error&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input in(data, size);
  const uniform_batch batch{request(tokens(in.number()), tokens(in.number()), tokens(in.number())), in.number()};
  const bytes budget(in.number());
  const tokens length(in.number());
  const detail::transformers::quantized_cache quantized{
      static_cast<detail::transformers::quantization_backend>(in.byte() % 3),
      1U << in.byte() % 4U,
      1U + in.byte(),
      static_cast<std::uint32_t>(in.number()),
      in.byte() % 2U,
      in.byte() % 2U};
  model m;
  while (!in.empty() && m.kinds().size() < 8) {
    const layer_part part = part_of(in);
    const std::uint8_t copies = in.byte();
    for (std::uint8_t i = 0; i <= copies % 4; ++i) m.add(i, {"layer", {part}});
  }
  check(m, stored_positions{}, batch, budget);
  check(m, static_reservation{length}, batch, budget);
  check(m, paged{length}, batch, budget);
  check(m, detail::transformers::dynamic_cache{}, batch, budget);
  check(m, detail::transformers::dynamic_cache_storage{}, batch, budget);
  check(m, detail::transformers::static_cache{length, tokens()}, batch, budget);
  check(m, quantized, batch, budget);
  return 0;
}
