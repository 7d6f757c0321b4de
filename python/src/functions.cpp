#include "functions.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "batch.h"
#include "convert.h"
#include "input.h"

namespace deeplake {
namespace {

// Bounds the message of an exception: the core puts the place in the query around it.
constexpr size_t most_said = 1000;

void complain(dl_error* err, dl_status status, const std::string& message,
              std::uint64_t cause = 0) {
    err->status = status;
    err->flags = 0;
    err->cause = cause;
    const size_t n = std::min(message.size(), most_said);
    std::memcpy(err->message, message.data(), n);
    std::replace(err->message, err->message + n, '\0', ' ');
    err->message[n] = 0;
}

std::vector<Running*>& running() {
    // never destroyed: threads of the core end after everything
    static auto* all = new std::vector<Running*>;
    return *all;
}

// Guards the list and its calls; the GIL does not, where there is none. It is taken again if a
// function of one query waits for another query.
std::recursive_mutex& guard() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}

using Locked = std::lock_guard<std::recursive_mutex>;

thread_local Running* innermost = nullptr;

std::atomic<int> visits{0};
std::atomic<bool> exiting{false};

// Bounds the wait at exit for functions that have begun: one that never returns must not keep the
// process.
constexpr auto most_waited = std::chrono::seconds(5);

}  // namespace

Visit::Visit() {
    visits++;  // before reading exiting, which `last` sets before it reads visits
    open_ = !exiting && !finalizing();
    if (!open_) visits--;
}

Visit::~Visit() {
    if (open_) visits--;
}

void Visit::last() {
    exiting = true;
    without_gil([] {
        const auto until = std::chrono::steady_clock::now() + most_waited;
        while (visits > 0 && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return 0;
    });
}

void Visit::register_exit() {
    py::module_::import("atexit").attr("register")(py::cpp_function(last));
    pthread_atfork(nullptr, nullptr, [] { visits = 0; });  // their threads are not in the child
}

Running::Running(const void* owner)
    : owner_(owner), outer_(innermost), thread_(PyThread_get_thread_ident()) {
    const Locked lock(guard());
    running().push_back(this);
    innermost = this;
}

Running::~Running() {
    const Locked lock(guard());
    running().erase(std::find(running().begin(), running().end(), this));
    innermost = outer_;
    if (told_ == 0) return;
    // An interrupt that was requested and not yet raised must hit the call around this one, not the
    // next code of this thread.
    PyThreadState_SetAsyncExc(
        thread_, outer_ != nullptr && outer_->told_ != 0 ? PyExc_KeyboardInterrupt : nullptr);
}

Running* Running::here() { return innermost; }

std::uint64_t Running::press() {
    static std::uint64_t number = 0;
    const Locked lock(guard());
    return ++number;
}

void Running::wait_for(std::function<void(std::uint64_t press)> stop) {
    const Locked lock(guard());
    waits_for_ = std::move(stop);
}

void Running::interrupt(const void* owner, std::uint64_t press) {
    const Locked lock(guard());
    for (Running* call : running()) {
        if (call->owner_ != owner || call->telling_) continue;
        call->telling_ = true;
        if (call->told_ < press) {
            call->told_ = press;
            PyThreadState_SetAsyncExc(call->thread_, PyExc_KeyboardInterrupt);
        }
        // repeated: functions begin there, too, until the core has noticed
        if (call->waits_for_) call->waits_for_(press);
        call->telling_ = false;
    }
}

Functions::Functions(const py::object& functions) {
    for (py::handle f : functions) {
        const auto name = py::cast<std::string>(f.attr("name"));
        names_.push_back(name);
        callees_.push_back({this, py::reinterpret_borrow<py::object>(f)});
        const py::object shape = f.attr("shape");
        shapes_.emplace_back();
        if (!shape.is_none()) {
            for (py::handle axis : shape)
                shapes_.back().push_back(axis.is_none() ? -1 : py::cast<std::int64_t>(axis));
        }
        dl_function out{};
        out.name = names_.back().c_str();
        out.dtype = dtype_by_name(py::cast<std::string>(f.attr("dtype")));
        out.ndim = shape.is_none() ? -1 : static_cast<std::int32_t>(shapes_.back().size());
        out.shape = shapes_.back().data();
        out.self = &callees_.back();
        out.call = invoke;
        out.done = done;
        all_.push_back(out);
    }
}

// Called by any thread of the core.
dl_status Functions::invoke(void* self, dl_array_in* args, std::int64_t args_n, std::int64_t rows,
                            dl_rows* out, void** kept, dl_error* err) {
    const Visit visit;
    if (!visit) {
        complain(err, DL_CANCELED, "call function: the interpreter ends");
        return DL_CANCELED;
    }
    const py::gil_scoped_acquire gil;
    const auto* const of = static_cast<const Callee*>(self);
    const py::handle callee = of->call;
    Running call(of->owner);
    try {
        py::list columns;
        for (std::int64_t i = 0; i < args_n; i++) columns.append(copy_array(args[i], rows));
        const py::object result = callee(columns, rows);
        const std::string dtype = py::cast<std::string>(callee.attr("dtype"));
        auto values =
            std::make_unique<Columns>("take result of", py::dict(py::arg("value") = result),
                                      py::dict(py::arg("value") = dtype));
        *out = values->data()[0];
        *kept = values.release();
        return DL_OK;
    } catch (py::error_already_set& e) {
        // The failure of the query names this exception as its cause.
        complain(err, DL_INVALID, said(callee, e.value()), remember(e.value()));
    } catch (const Failure& e) {
        complain(err, e.status(), e.what());
    } catch (const std::exception& e) {
        complain(err, DL_INTERNAL, e.what());
    }
    return err->status;
}

// Returns a message about an exception, also if the exception's own is not printable. It throws
// nothing, because the core is the caller.
std::string Functions::said(py::handle callee, const py::object& raised) {
    try {
        const py::object text =
            callee.attr("failure")(raised).attr("encode")("utf-8", "backslashreplace");
        return py::cast<std::string>(text);
    } catch (...) {
        PyErr_Clear();
        return "call function: it raised an exception whose message cannot be read";
    }
}

void Functions::done(void*, void* kept) {
    const Visit visit;
    if (!visit) return;  // leaked
    const py::gil_scoped_acquire gil;
    delete static_cast<Columns*>(kept);
}

bool calls_functions(const ViewHandle& view) {
    for (const ViewHandle* v = &view; v != nullptr; v = v->view.get()) {
        if (v->functions && static_cast<const Functions*>(v->functions.get())->size() > 0)
            return true;
    }
    return false;
}

void interrupt_functions(const ViewHandle& view, std::uint64_t press) {
    for (const ViewHandle* v = &view; v != nullptr; v = v->view.get()) {
        if (v->functions) Running::interrupt(v->functions.get(), press);
    }
}

}  // namespace deeplake
