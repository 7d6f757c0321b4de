// Runs kernels on the host, one at a time. All of ours take a list of tasks and its length.
#include "device.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>

#include <deque>
#include <memory>
#include <mutex>

fake_index threadIdx, blockIdx, blockDim, gridDim;

namespace {

using Kernel = void (*)(const void* tasks, uint32_t count);

constexpr size_t stack_size = 64 << 10;

// A thread of a block. It stays for the next block: only its first start costs system calls.
struct Fiber {
    std::unique_ptr<char[]> stack;
    jmp_buf env;
    bool over;
};

struct Block {
    Kernel kernel;
    const void* tasks;
    uint32_t count;
    ucontext_t first;  // the way back of a fiber that never returns
    jmp_buf back;
    Fiber* current;
};

std::mutex one_at_a_time;
Block running;
std::deque<Fiber> fibers;  // never moved: they stand on their own addresses

// Lets the block go on, until it is this fiber's turn again.
void yield() {
    if (_setjmp(running.current->env) == 0) _longjmp(running.back, 1);
}

void fiber() {
    for (;;) {
        running.kernel(running.tasks, running.count);
        running.current->over = true;
        yield();
    }
}

void start(Fiber& f) {
    f.stack.reset(new char[stack_size]);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack.get();
    context.uc_stack.ss_size = stack_size;
    context.uc_link = nullptr;
    makecontext(&context, fiber, 0);
    swapcontext(&running.first, &context);
}

// Lets each fiber go on until its next __syncthreads or its end, in order. Returns whether any is
// left.
bool turn(unsigned threads) {
    bool left = false;
    for (unsigned i = 0; i < threads; i++) {
        Fiber* const f = &fibers[i];
        if (f->over) continue;
        threadIdx = {i, 0, 0};
        running.current = f;
        if (_setjmp(running.back) == 0) {
            if (f->stack)
                _longjmp(f->env, 1);
            else
                start(*f);
        }
        left = left || !running.current->over;
    }
    return left;
}

}  // namespace

void __syncthreads() { yield(); }

extern "C" {

static Kernel find(const char* name) {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&find), &self) == 0) return nullptr;
    void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return library == nullptr ? nullptr : reinterpret_cast<Kernel>(dlsym(library, name));
}

int fake_cuda_has(const char* name) { return find(name) != nullptr; }

int fake_cuda_run(const char* name, unsigned blocks, unsigned threads, const void* tasks,
                  uint32_t count) {
    const Kernel kernel = find(name);
    if (kernel == nullptr) return 0;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    running.kernel = kernel;
    running.tasks = tasks;
    running.count = count;
    while (fibers.size() < threads) fibers.emplace_back();
    blockDim = {threads, 1, 1};
    gridDim = {blocks, 1, 1};
    for (unsigned n = 0; n < blocks; n++) {
        blockIdx = {n, 0, 0};
        for (unsigned i = 0; i < threads; i++) fibers[i].over = false;
        while (turn(threads)) {
        }
    }
    return 1;
}
}
