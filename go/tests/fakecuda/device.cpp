// Runs kernels on the host. All of ours take a list of tasks and its length.
#include "device.h"

#include <dlfcn.h>
#include <ucontext.h>

#include <memory>
#include <vector>

thread_local fake_index threadIdx, blockIdx, blockDim, gridDim;

namespace {

using Kernel = void (*)(const void* tasks, uint32_t count);

constexpr size_t stack_size = 64 << 10;

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[stack_size]};
    bool over = false;
};

struct Block {
    Kernel kernel;
    const void* tasks;
    uint32_t count;
    ucontext_t back;
    Fiber* current;
};

thread_local Block* running;

void run() {
    running->kernel(running->tasks, running->count);
    running->current->over = true;
    swapcontext(&running->current->context, &running->back);
}

// Lets each fiber go on until its next __syncthreads or its end, in order. Returns whether any is
// left.
bool turn(Block& b, std::vector<Fiber>& fibers, unsigned threads) {
    bool left = false;
    for (unsigned i = 0; i < threads; i++) {
        if (fibers[i].over) continue;
        threadIdx = {i, 0, 0};
        b.current = &fibers[i];
        swapcontext(&b.back, &fibers[i].context);
        left = left || !fibers[i].over;
    }
    return left;
}

}  // namespace

void __syncthreads() { swapcontext(&running->current->context, &running->back); }

extern "C" {

// Runs a kernel by its name; false: there is none.
int fake_cuda_run(const char* name, unsigned blocks, unsigned threads, const void* tasks,
                  uint32_t count) {
    const auto kernel = reinterpret_cast<Kernel>(dlsym(RTLD_DEFAULT, name));
    Dl_info self;
    void* found = reinterpret_cast<void*>(kernel);
    if (found == nullptr && dladdr(reinterpret_cast<void*>(&fake_cuda_run), &self) != 0)
        found = dlsym(dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
    if (found == nullptr) return 0;
    Block b{reinterpret_cast<Kernel>(found), tasks, count, {}, nullptr};
    static thread_local std::vector<Fiber> fibers;
    while (fibers.size() < threads) fibers.emplace_back();
    running = &b;
    blockDim = {threads, 1, 1};
    gridDim = {blocks, 1, 1};
    for (unsigned n = 0; n < blocks; n++) {
        blockIdx = {n, 0, 0};
        for (unsigned i = 0; i < threads; i++) {
            Fiber& f = fibers[i];
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = f.stack.get();
            f.context.uc_stack.ss_size = stack_size;
            f.context.uc_link = nullptr;
            f.over = false;
            makecontext(&f.context, run, 0);
        }
        while (turn(b, fibers, threads)) {
        }
    }
    return 1;
}
}
