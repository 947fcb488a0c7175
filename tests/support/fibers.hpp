// Threads that a test runs as fibers of one thread, so that it decides who goes on.
#pragma once
#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

namespace testing {

class fibers {
 public:
  static constexpr int outside = -1;

  /// Anew: none of the bodies has begun.
  void start(const std::vector<std::function<void()>>& bodies) {
    size_ = bodies.size();
    if (all_.size() < size_) all_.resize(size_);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (!all_[i]) all_[i] = std::make_unique<fiber>();
      fiber& f = *all_[i];
      f.done = false;
      f.ready = nullptr;
      f.body = &bodies[i];
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.data();
      f.context.uc_stack.ss_size = f.stack.size();
      f.context.uc_link = nullptr;
      makecontext(&f.context, enter, 0);
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool done(std::size_t i) const { return all_[i]->done; }
  /// It has not ended, and what it waits for has happened.
  [[nodiscard]] bool runnable(std::size_t i) const {
    return !all_[i]->done && (all_[i]->ready == nullptr || (*all_[i]->ready)());
  }
  /// The one that runs, or outside.
  [[nodiscard]] int running() const { return running_; }
  /// From outside: until it yields or ends.
  void resume(std::size_t i) {
    running_ = static_cast<int>(i);
    entering = this;
    swapcontext(&main_, &all_[i]->context);
    running_ = outside;
  }
  /// From a fiber: back to who resumed it.
  void yield() { swapcontext(&all_[static_cast<std::size_t>(running_)]->context, &main_); }
  /// The same until `ready` says so.
  void block_until(const std::function<bool()>& ready) {
    fiber& f = *all_[static_cast<std::size_t>(running_)];
    f.ready = &ready;
    yield();
    f.ready = nullptr;
  }

 private:
  struct fiber {
    ucontext_t context{};
    std::vector<char> stack = std::vector<char>(256 * 1024);
    const std::function<bool()>* ready = nullptr;
    const std::function<void()>* body = nullptr;
    bool done = false;
  };
  static inline fibers* entering = nullptr;

  static void enter() {
    fibers& self = *entering;
    fiber& f = *self.all_[static_cast<std::size_t>(self.running_)];
    (*f.body)();
    f.done = true;
    self.yield();
  }

  ucontext_t main_{};
  std::vector<std::unique_ptr<fiber>> all_;
  std::size_t size_ = 0;
  int running_ = outside;
};

}  // namespace testing
