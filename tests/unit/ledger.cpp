// The ledger's interface by example: exact units and bytes, every reason to refuse, waiting, what it prints.
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#endif

#include <kvbudget/ledger/ledger.hpp>
#include <kvbudget/ledger/from_layers.hpp>
#include <kvbudget/ledger/metrics.hpp>
#include <kvbudget/engines/vllm/block_pool.hpp>
#include <kvbudget/config/model.hpp>

#include "support/catch.hpp"

using namespace kvbudget;
using namespace std::chrono_literals;

namespace {

constexpr ledger_pool blocks_of_16(std::uint64_t capacity, std::optional<std::uint64_t> credit = {}) {
  return {"kv_cache", capacity, 2_MiB, {{1, 16_tokens, {}}}, credit};
}
auto soon() { return std::chrono::steady_clock::now() + 20ms; }
auto late() { return std::chrono::steady_clock::now() + 60s; }

using one_pool = ledger<admit_resident, 1>;
static_assert(!std::is_copy_constructible_v<one_pool::lease> && std::is_nothrow_move_constructible_v<one_pool::lease>);
static_assert(!std::is_copy_constructible_v<one_pool::prefix> &&
              std::is_nothrow_move_constructible_v<one_pool::prefix>);
static_assert(!std::is_move_constructible_v<one_pool>);
static_assert(noexcept(std::declval<one_pool&>().try_admit(std::declval<const request&>())));
static_assert(noexcept(std::declval<one_pool::lease&>().extend(tokens())));
static_assert(sizeof(one_pool::lease) == 48 && sizeof(ledger<admit_resident, 4>::lease) == 72);

}  // namespace

TEST_CASE("reserving to the limit never stalls and wastes what is not stored") {
  ledger books(reserve_to_limit{}, blocks_of_16(256 + 255));
  auto lease = books.try_admit(request(3072_tokens, 1024_tokens));
  REQUIRE(lease);
  CHECK(lease.units(0) == 256);
  CHECK(books.try_admit(request(3072_tokens, 1024_tokens)).why() == rejection::no_room);
  CHECK(lease.extend(4096_tokens) == rejection::none);
  CHECK(lease.extend(4097_tokens) == rejection::beyond_limit);
  CHECK(lease.shrink(3072_tokens) == rejection::none);
  const pool_snapshot p = books.snapshot().pools[0];
  CHECK(p.reserved == 256);
  CHECK(p.resident == 192);
  CHECK(p.stored == 384_MiB);
  CHECK(p.wasted() == 128_MiB);
  CHECK(p.fragmentation() == 0.25);
}

TEST_CASE("admitting what is resident admits more, and a lease can stall") {
  ledger books(admit_resident{{1, 100}}, blocks_of_16(400));        // 4 blocks stay free at an admission
  auto first = books.try_admit(request(3072_tokens, 1024_tokens));  // 192 blocks
  auto second = books.try_admit(request(3072_tokens, 1024_tokens));
  CHECK(second);
  CHECK(books.try_admit(request(64_tokens, 0_tokens)));
  CHECK(books.try_admit(request(192_tokens, 0_tokens)));  // the last 12 above the watermark
  CHECK(books.try_admit(request(193_tokens, 0_tokens)).why() == rejection::no_room);
  CHECK(first.extend(3072_tokens + 16_tokens * 16U) == rejection::none);
  CHECK(first.extend(3072_tokens + 16_tokens * 16U + 1_tokens) == rejection::no_room);
  CHECK(first.length() == 3328_tokens);
  CHECK(first.units(0) == 208);
  second.release();  // preempted
  CHECK(first.extend(4096_tokens) == rejection::none);
  const auto now = books.snapshot();
  CHECK(now.stalled == 1);
  CHECK(now.sequences == 1);
  CHECK(now.rejected[static_cast<std::size_t>(rejection::no_room)] == 1);
  CHECK(now.pools[0].high_water == 400);
}

TEST_CASE("what never fits is said at once") {
  ledger books(admit_resident{{1, 10}}, blocks_of_16(100));
  CHECK(books.try_admit(request(1_tokens, 1600_tokens)).why() == rejection::never_fits);
  CHECK(books.try_admit(request(1441_tokens, 0_tokens)).why() == rejection::never_fits);  // 91 + the watermark's 10
  CHECK(books.try_admit(request(1440_tokens, 160_tokens)));
  CHECK(books.try_admit(request(tokens::max(), 1_tokens)).why() == rejection::never_fits);
  CHECK(books.try_share(tokens::max()).why() == rejection::never_fits);
  CHECK(books.admit(request(tokens::max(), tokens::max()), late()).why() == rejection::never_fits);
  ledger none(admit_resident{}, blocks_of_16(0));
  CHECK(none.try_admit(request(1_tokens, 0_tokens)).why() == rejection::never_fits);
  ledger states(admit_resident{{0, 1}}, ledger_pool{"states", 1, 1_B, {{1, {}, {}}}, {}});
  CHECK(states.try_admit(request(tokens(0xffff'fffeU), 0_tokens)));
  CHECK(states.try_admit(request(tokens(0xffff'fffeU), 1_tokens)).why() == rejection::never_fits);
}

TEST_CASE("numbers of more than 64 bits are an error") {
  CHECK_THROWS_AS(ledger(admit_resident{}, ledger_pool{"pool", ~std::uint64_t{0}, 2_B, {{1, 1_tokens, {}}}, {}}),
                  size_error);
  CHECK_THROWS_AS(ledger(admit_resident{}, ledger_pool{"pool", std::uint64_t{1} << 60U, 1_B, {{1, 32_tokens, {}}}, {}}),
                  size_error);
  CHECK_THROWS_AS(
      ledger(admit_resident{}, ledger_pool{"pool", 1, 1_B, {{1, tokens::max(), {}}, {1, 2_tokens, {}}}, {}}),
      size_error);
  CHECK_THROWS_AS(ledger(admit_resident{{1, 0}}, blocks_of_16(1)), size_error);
}

TEST_CASE("within a block nothing is taken; at its edge a block, and a window gives back what it has left") {
  ledger books(admit_resident{{0, 1}},
               std::array{blocks_of_16(100), ledger_pool{"window", 3, 64_B, {{1, 16_tokens, 32_tokens}}, {}},
                          ledger_pool{"state", 1, 1000_B, {{1, {}, {}}}, {}}});
  auto lease = books.try_admit(request(1_tokens, 999_tokens));
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    REQUIRE(lease.extend(tokens(n)) == rejection::none);
    CHECK(lease.units(0) == (n + 15) / 16);
    CHECK(lease.units(1) == (n + 15) / 16 - (n > 32 ? (n - 32) / 16 : 0));
    CHECK(lease.units(2) == 1);
  }
  CHECK(books.snapshot().pools[1].high_water == 3);
  CHECK(books.try_admit(request(1_tokens, 0_tokens)).why() == rejection::no_room);  // its state
  CHECK(books.snapshot().pools[0].reserved == 63);                                  // all or nothing
}

TEST_CASE("forks share whole blocks and copy the last one") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(20));
  auto first = books.try_admit(request(100_tokens, 100_tokens));  // 7 blocks, 6 of them whole
  auto second = first.fork(), third = second.fork();
  CHECK(books.snapshot().pools[0].reserved == 6 + 3);
  CHECK(books.snapshot().pools[0].stored == 2_MiB * (96U + 3U * 4U) / 16U);
  CHECK(third.extend(113_tokens) == rejection::none);
  CHECK(books.snapshot().pools[0].reserved == 6 + 4);
  CHECK(third.shrink(99_tokens) == rejection::wrong_length);
  first.release();
  second.release();
  CHECK(books.snapshot().pools[0].reserved == 6 + 2);
  third.release();
  CHECK(books.snapshot().pools[0].reserved == 0);
  CHECK(third.fork().why() == rejection::released);
  CHECK(third.extend(120_tokens) == rejection::released);
  CHECK(third.shrink(1_tokens) == rejection::released);
  CHECK_FALSE(third.fork());
}

TEST_CASE("a prefix is counted once and goes back with the last lease") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(40)), other(admit_resident{{0, 1}}, blocks_of_16(40));
  auto system = books.try_share(320_tokens);
  auto chat = books.try_share(480_tokens, system);
  CHECK(books.snapshot().pools[0].reserved == 30);
  auto a = books.try_admit(request(500_tokens, 10_tokens), chat),
       b = books.try_admit(request(330_tokens, 10_tokens), system);
  CHECK(a.units(0) == 2);
  CHECK(b.units(0) == 1);
  CHECK(books.try_admit(request(319_tokens, 10_tokens), system).why() == rejection::wrong_length);
  CHECK(other.try_admit(request(330_tokens, 10_tokens), system).why() == rejection::wrong_length);
  CHECK_FALSE(system.unused());
  system.release();
  chat.release();
  CHECK(books.snapshot().pools[0].reserved == 33);
  a.release();
  CHECK(books.snapshot().pools[0].reserved == 21);
  b.release();
  CHECK(books.snapshot().pools[0].reserved == 0);
}

TEST_CASE("a prefix that is none is refused for its own reason, wherever one is taken") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(40)), other(admit_resident{{0, 1}}, blocks_of_16(40));
  const request r(160_tokens, 10_tokens);
  const auto reasons = [&](const one_pool::prefix& p) {
    return std::array{books.try_admit(r, p).why(), books.admit(r, p, late()).why(),
                      books.try_share(160_tokens, p).why()};
  };
  const auto all = [](rejection why) { return std::array{why, why, why}; };
  const auto most = books.try_admit(request(480_tokens, 0_tokens));  // 10 blocks are left
  const auto no_room = books.try_share(176_tokens), never = books.try_share(641_tokens);
  CHECK(no_room.why() == rejection::no_room);
  CHECK(reasons(no_room) == all(rejection::no_room));
  CHECK(reasons(never) == all(rejection::never_fits));
  auto system = books.try_share(32_tokens), longer = books.try_share(16_tokens, system);
  CHECK(reasons(longer) == all(rejection::wrong_length));
  auto chat = std::move(system);
  CHECK(reasons(system) == all(rejection::released));
  CHECK(system.why() == rejection::released);
  CHECK(chat.why() == rejection::none);
  CHECK(books.try_admit(r, chat));
  chat.release();
  CHECK(reasons(chat) == all(rejection::released));
  const auto elsewhere = other.try_share(32_tokens);
  CHECK(reasons(elsewhere) == all(rejection::wrong_length));
  // One that was refused stays so when it moves; what takes its place is one again.
  auto refused = books.try_share(176_tokens), moved = std::move(refused);
  CHECK(reasons(refused) == all(rejection::no_room));
  CHECK(reasons(moved) == all(rejection::no_room));
  chat = books.try_share(32_tokens);
  CHECK(chat.why() == rejection::none);
  CHECK(books.try_admit(r, chat).units(0) == 8);
  CHECK(books.try_admit(r, one_pool::prefix()).why() == rejection::no_room);  // 10 blocks, where 8 are left
  const auto now = books.snapshot();
  CHECK(now.pools[0].reserved == 32);
  CHECK(now.waiting == 0);
  CHECK(now.rejected[static_cast<std::size_t>(rejection::released)] == 4);
  CHECK(now.rejected[static_cast<std::size_t>(rejection::wrong_length)] == 4);
}

TEST_CASE("a pool that nothing draws on is refused: it would admit for ever") {
  CHECK_THROWS_AS(ledger(admit_resident{}, ledger_pool{"pool", 100, 1_B}), size_error);
  CHECK_THROWS_AS(ledger(reserve_to_limit{}, ledger_pool{"pool", 100, 1_B, {{0, 16_tokens, {}}, {0, {}, {}}}}),
                  size_error);
  CHECK_THROWS_AS(ledger(admit_resident{}, std::array{blocks_of_16(10), ledger_pool{"pool", 100, 1_B}}), size_error);
  CHECK_THROWS_AS(ledger(admit_resident{}, byte_pool(model{}, paged{16_tokens}, 1_GiB)), size_error);
  ledger some(admit_resident{{0, 1}}, ledger_pool{"pool", 100, 1_B, {{0, 16_tokens, {}}, {1, {}, {}}}});
  CHECK(some.try_admit(request(1_tokens, 0_tokens)).units(0) == 1);
}

TEST_CASE("credit of another thread is found; units are refused only when they are not there") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(64, 64));
  std::thread([&] { books.try_admit(request(512_tokens, 0_tokens)).release(); }).join();
  auto all = books.try_admit(request(1024_tokens, 0_tokens));
  CHECK(all.units(0) == 64);
  all.release();  // now all of it is this thread's credit
  std::thread([&] { CHECK(books.try_admit(request(1024_tokens, 0_tokens))); }).join();
}

TEST_CASE("waiting: first come, first served; a large request is not overtaken") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(10));
  auto holder = books.try_admit(request(96_tokens, 0_tokens));  // 6
  std::vector<int> order;
  std::mutex mutex;
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) {
    // 10 blocks, then 2, then 2, though 4 are free.
    all.emplace_back([&, i] {
      const request r(tokens(i == 0 ? 160U : 32U), 0_tokens);
      auto lease = books.admit(r, late());
      const std::lock_guard lock(mutex);
      if (lease) order.push_back(i);
    });
    while (books.snapshot().waiting != static_cast<std::uint64_t>(i) + 1) std::this_thread::yield();
  }
  CHECK(books.try_admit(request(16_tokens, 0_tokens)).why() == rejection::others_wait);
  CHECK(books.try_share(16_tokens).why() == rejection::others_wait);
  CHECK(order.empty());
  holder.release();
  for (std::thread& t : all) t.join();
  REQUIRE(order.size() == 3);
  CHECK(order[0] == 0);
  CHECK(books.snapshot().waiting == 0);
}

TEST_CASE("waiting ends at the deadline and by cancellation") {
  ledger books(admit_resident{{0, 1}}, blocks_of_16(10));
  auto holder = books.try_admit(request(160_tokens, 0_tokens));
  CHECK(books.admit(request(1_tokens, 0_tokens), soon()).why() == rejection::deadline);
  cancellation ended;
  std::thread waiting(
      [&] { CHECK(books.admit(request(1_tokens, 0_tokens), late(), &ended).why() == rejection::cancelled); });
  while (books.snapshot().waiting == 0) std::this_thread::yield();
  books.cancel(ended);
  waiting.join();
  CHECK(books.admit(request(1_tokens, 0_tokens), late(), &ended).why() == rejection::cancelled);
  const auto now = books.snapshot();
  CHECK(now.rejected[static_cast<std::size_t>(rejection::deadline)] == 1);
  CHECK(now.rejected[static_cast<std::size_t>(rejection::cancelled)] == 2);
  // Whoever waited and is gone holds nobody up.
  holder.release();
  CHECK(books.try_admit(request(1_tokens, 0_tokens)));
}

TEST_CASE("a pool from the layers of a model, in bytes") {
  const auto full = grouped_query_attention(8, 128, bf16);
  model m;
  m.add(0, {"full_attention", {full}});
  m.add(1, {"sliding_attention", {with_window(full, 1024_tokens)}});
  m.add_another(2, 1);
  m.add(3, {"hybrid", {full, recurrent_state{5000, bf16}}});
  const ledger_pool p = byte_pool(m, paged{16_tokens}, 1_GiB);
  CHECK(p.groups[0].units == 10'000);
  CHECK(p.groups[0].block_size == 0_tokens);
  CHECK(p.groups[1].units == 2 * 16 * 4096);
  CHECK(p.groups[1].window == 0_tokens);
  CHECK(p.groups[2].units == 2 * 16 * 4096);
  CHECK(p.groups[2].window == 1024_tokens);
  CHECK(p.groups[3].units == 0);
  m.add(4, {"chunked_attention", {chunked_local_attention{full.k, full.v, 512_tokens}}});
  CHECK_THROWS_AS(byte_pool(m, paged{16_tokens}, 1_GiB), size_error);
  CHECK_THROWS_AS(byte_pool(full, paged{0_tokens}, 1_GiB), size_error);
}

TEST_CASE("a pool of an engine's plan") {
  const pool cells{"kv", 0, 4096_B, 8192};
  ledger books(admit_resident{{0, 1}}, drawn_on(cells, cache_group{1, 1_tokens, {}}));
  CHECK(books.try_admit(request(8192_tokens, 0_tokens)).units(0) == 8192);

  detail::vllm::cache_plan plan;
  CHECK_THROWS_AS(detail::vllm::block_pool(plan), size_error);
}

TEST_CASE("what the engine reports is compared with what is computed") {
  ledger books(admit_resident{}, blocks_of_16(1000));
  const auto lease = books.try_admit(request(4000_tokens, 100_tokens));
  const pool_snapshot p = books.snapshot().pools[0];
  CHECK(reconcile(p, 250).agrees());
  CHECK(reconcile(p, 253).unaccounted() == 3);
  CHECK(reconcile(p, 240).unused() == 10);
  CHECK(reconcile_usage(p, 0.25).agrees());
  CHECK(reconcile_usage(p, 0.2532).observed == 253);
  CHECK(reconcile_usage(p, -1).observed == 0);
  CHECK(reconcile_usage(p, 7).observed == 1000);
}

TEST_CASE("a snapshot in print") {
  ledger books(admit_resident{}, ledger_pool{"a \"pool\"\n", 1000, 1024_B, {{1, 16_tokens, {}}}, {}});
  const auto lease = books.try_admit(request(100_tokens, 0_tokens));
  (void)books.try_admit(request(20'000_tokens, 0_tokens));
  const auto s = books.snapshot();
  CHECK(to_text(s) ==
        "a \"pool\"\n: 7 of 1000 units reserved, 7 resident, at most 7; 7168 B reserved, 6400 B stored, 10.7 % of it "
        "wasted\n"
        "1 sequences, 0 shared runs, 0 waiting; 1 admitted, 1 rejected, 0 stalls\n");
  const auto json = to_json(s);
  CHECK(json["pools"][0]["stored_bytes"] == 6400);
  CHECK(json["pools"][0]["reserved_bytes"] == 7168);
  CHECK(json["rejected"]["never_fits"] == 1);
  CHECK(json["sequences"] == 1);
  const std::string text = to_prometheus(s);
  CHECK(text.find("# TYPE kvbudget_stored_bytes gauge\nkvbudget_stored_bytes{pool=\"a \\\"pool\\\"\\n\"} 6400\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE kvbudget_rejected_total counter\n") != std::string::npos);
  CHECK(text.find("kvbudget_rejected_total{reason=\"never_fits\"} 1\n") != std::string::npos);
  CHECK(text.back() == '\n');
}

#if defined(__unix__)
TEST_CASE("a lease that outlives its ledger: abort, with a message") {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(pipe_ends[1], 2);
    std::signal(SIGABRT, SIG_DFL);
    one_pool::lease outlives;
    {
      ledger books(admit_resident{}, blocks_of_16(100));
      outlives = books.try_admit(request(1_tokens, 0_tokens));
    }
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  char text[256] = {};
  std::string message;
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], text, sizeof text)) > 0;)
    message.append(text, static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(message.find("kvbudget: a ledger ends before 1 leases") != std::string::npos);
}
#endif

TEST_CASE("a request that does not fit beside its own prefix is refused at once") {
  // Three blocks of 16 with a window of 32: alone 64 positions take two or three, but the prefix keeps two as well.
  ledger books(admit_resident{{0, 1}}, ledger_pool{"window", 3, bytes(1U), {{1, 16_tokens, 32_tokens}}});
  CHECK(static_cast<bool>(books.try_admit(request(64_tokens, tokens()))));
  const auto prefix = books.try_share(32_tokens);
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  CHECK(books.admit(request(64_tokens, tokens()), prefix, soon).why() == rejection::never_fits);
  CHECK(books.snapshot().waiting == 0);
}
