#include "call.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "functions.h"

namespace deeplake {
namespace {

constexpr auto slice = std::chrono::milliseconds(25);

// A thread that makes long calls for the main thread, which handles signals meanwhile. There is one
// for each process and generation. It is never destroyed: in a forked child the thread is gone, and
// the object is left alone.
class Proxy {
  public:
    // Returns whether the proxy took the call. It refuses during another call: Python code of a
    // signal may call again.
    bool start(const std::function<dl_status()>& f) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (f_ != nullptr) return false;
        if (!started_) {
            std::thread([this] { run(); }).detach();
            started_ = true;
        }
        f_ = &f;
        done_ = false;
        wake_.notify_one();
        return true;
    }

    bool wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        return finished_.wait_for(lock, slice, [this] { return done_; });
    }

    dl_status finish() {
        std::lock_guard<std::mutex> lock(mutex_);
        f_ = nullptr;
        return status_;
    }

  private:
    void run() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return f_ != nullptr && !done_; });
            lock.unlock();
            dl_status status = (*f_)();
            lock.lock();
            status_ = status;
            done_ = true;
            finished_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    const std::function<dl_status()>* f_ = nullptr;  // of the waiting call
    bool started_ = false;
    bool done_ = true;
    dl_status status_ = DL_OK;
};

Proxy& proxy(const Core& core) {
    static std::mutex mutex;
    static Proxy* current = nullptr;
    static std::uint64_t generation = 0;
    std::lock_guard<std::mutex> lock(mutex);
    if (current == nullptr || generation != core.generation) {
        current = new Proxy;
        generation = core.generation;
    }
    return *current;
}

// Python runs signal handlers in its main thread only.
bool on_main_thread() {
#ifdef __linux__
    return syscall(SYS_gettid) == getpid();
#else
    return pthread_main_np() != 0;
#endif
}

}  // namespace

bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

bool inside_function() { return Running::here() != nullptr; }

void close_elsewhere(std::function<void()> close, std::shared_ptr<void> owners) {
    // The thread never takes the GIL: an exiting interpreter would end it there. The main thread
    // drops the owners. At exit, or with too many pending calls, they are leaked.
    auto* const kept = new std::shared_ptr<void>(std::move(owners));
    std::thread([close = std::move(close), kept] {
        close();
        const auto drop = [](void* p) {
            delete static_cast<std::shared_ptr<void>*>(p);
            return 0;
        };
        if (!finalizing()) Py_AddPendingCall(drop, kept);
    }).detach();
}

void call_long(const Core& core, const std::function<dl_status(dl_context, dl_error*)>& f,
               const Interrupt& interrupt) {
    dl_error err;
    Running* const inside = Running::here();
    if (!on_main_thread() && inside == nullptr) {
        check(without_gil([&] { return f(dl_context{0}, &err); }), err);
        return;
    }
    dl_context context{0};
    check(core.context_new(0, &context, &err), err);
    const std::function<dl_status()> body = [&] { return f(context, &err); };
    std::optional<py::error_already_set> raised;
    dl_status status = DL_OK;
    Proxy* const p = on_main_thread() ? &proxy(core) : nullptr;
    if (p != nullptr && p->start(body)) {
        std::uint64_t press = 0;
        while (!without_gil([&] { return p->wait(); })) {
            if (PyErr_CheckSignals() != 0) {
                press = Running::press();
                core.context_cancel(context, nullptr);
                if (raised) {
                    PyErr_Clear();
                } else {
                    raised.emplace();
                }
            }
            // new functions may begin until the core has noticed
            if (raised && interrupt) interrupt(press);
        }
        status = p->finish();
    } else {
        if (inside != nullptr) {
            inside->wait_for([&](std::uint64_t press) {
                core.context_cancel(context, nullptr);
                if (interrupt) interrupt(press);
            });
        }
        status = without_gil(body);
        if (inside != nullptr) inside->wait_for(nullptr);
    }
    core.context_close(context, nullptr);
    if (raised) {
        if (status != DL_OK) forget(err);
        throw py::error_already_set(*raised);
    }
    check(status, err);
}

}  // namespace deeplake
