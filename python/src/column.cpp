#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <vector>

#include "convert.h"
#include "functions.h"
#include "objects.h"

namespace deeplake {
namespace {

struct ColumnOwners {
    ColumnOwners() = default;
    explicit ColumnOwners(std::shared_ptr<ViewHandle> of) : view(std::move(of)) {}
    std::shared_ptr<ViewHandle> view;
};
using ColumnHandle = Handle<dl_column, ColumnOwners>;

using Guess = std::atomic<std::int64_t>;

struct Column {
    std::shared_ptr<ColumnHandle> handle;
    std::shared_ptr<Guess> guess;  // bytes of the next sample, so that one call usually does
};

// A sample up to this size is read into a bytes object of a guessed size, which then shrinks.
// Larger ones are measured first: shrinking them would cost more than asking.
constexpr std::int64_t most_guessed = 64 << 10;

// Reads of more rows than these answer Ctrl-C.
constexpr std::int64_t many_rows = 1024;

Column open(const View& self, const Text& name) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    Column column{std::make_shared<ColumnHandle>(self.handle), std::make_shared<Guess>(4096)};
    dl_column out{0};
    call([&](dl_error* err) { return c.column_open(h, name.c_str(), &out, err); });
    column.handle->set(out);
    return column;
}

// Calls f so that Ctrl-C is answered if it reads many rows or calls Python functions.
template <class F>
void call_rows(const ColumnHandle& h, std::int64_t n, F&& f) {
    if (n > many_rows || calls_functions(*h.view)) {
        call_long(h.core(), f, [&h](std::uint64_t press) { interrupt_functions(*h.view, press); });
    } else {
        call([&](dl_error* err) { return f(dl_context{0}, err); });
    }
}

Numbers sizes(const Column& self, const py::object& rows) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    Numbers out(at.size());
    const dl_column h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    std::int64_t* to = out.mutable_data();
    call_rows(*self.handle, n, [&](dl_context ctx, dl_error* err) {
        return c.column_sizes(ctx, h, data, n, to, err);
    });
    return out;
}

py::object allocate(std::int64_t size) {
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
    if (bytes == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(bytes);
}

// A block of memory above the bytes objects of the last calls. When a list of them is dropped, the
// allocator would return the top of the heap to the system. The next list would then fault in every
// page, which costs more than reading it. Below a block that stays, the allocator keeps the memory
// for the next list.
class Ceiling {
  public:
    // Raises the ceiling above an object of size bytes, the highest of a list.
    void raise(const void* highest, std::int64_t size) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (std::less<const void*>()(highest, block_)) return;
        // An object that does not fit below the list's last one goes above it, and so does a block
        // of the same size.
        void* fresh = std::malloc(static_cast<size_t>(size));
        if (std::less<const void*>()(highest, fresh)) std::swap(block_, fresh);
        std::free(fresh);
    }

  private:
    std::mutex mutex_;
    void* block_ = nullptr;
};

// Reads one row. It writes to the bytes object before any other code sees it.
py::object read_one(const Column& self, std::int64_t row) {
    const Core& c = self.handle->core();
    const dl_column h = self.handle->get();
    std::int64_t room = self.guess->load(std::memory_order_relaxed);
    for (;;) {
        py::object bytes = allocate(room);
        char* to = PyBytes_AS_STRING(bytes.ptr());
        std::int64_t size = 0;
        call_rows(*self.handle, 1, [&](dl_context ctx, dl_error* err) {
            return c.column_stored_one(ctx, h, row, to, room, &size, err);
        });
        if (size < 0) return py::none();
        if (size > room) {
            self.guess->store(std::min(size + size / 4, most_guessed), std::memory_order_relaxed);
            room = size;
            continue;
        }
        if (size == room) return bytes;
        PyObject* raw = bytes.release().ptr();
        if (_PyBytes_Resize(&raw, static_cast<Py_ssize_t>(size)) != 0)
            throw py::error_already_set();
        return py::reinterpret_steal<py::object>(raw);
    }
}

py::list read_many(const Column& self, const py::object& rows) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    const dl_column h = self.handle->get();
    std::vector<std::int64_t> size(static_cast<size_t>(n));
    std::vector<void*> places(static_cast<size_t>(n));
    call_rows(*self.handle, n, [&](dl_context ctx, dl_error* err) {
        return c.column_sizes(ctx, h, data, n, size.data(), err);
    });
    py::list out(n);
    size_t highest = 0;
    for (size_t i = 0; i < size.size(); i++) {
        py::object bytes = size[i] < 0 ? py::none() : allocate(size[i]);
        places[i] = size[i] < 0 ? nullptr : PyBytes_AS_STRING(bytes.ptr());
        if (std::less<const void*>()(places[highest], places[i])) highest = i;
        PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), bytes.release().ptr());
    }
    static Ceiling ceiling;
    if (n > 1 && places[highest] != nullptr) ceiling.raise(places[highest], size[highest]);
    call_rows(*self.handle, n, [&](dl_context ctx, dl_error* err) {
        return c.column_stored(ctx, h, data, n, places.data(), size.data(), err);
    });
    return out;
}

}  // namespace

void register_column(py::module_& m) {
    using py::arg;
    declare<Column>(m, "Column")
        .def("sizes", sizes, arg("rows"))
        .def("bytes", read_one, arg("row"))
        .def("bytes_many", read_many, arg("rows"));
    // Declared here, with the class of its result.
    py::object view = m.attr("View");
    view.attr("column") =
        py::cpp_function(open, py::name("column"), py::is_method(view), arg("name"));
}

}  // namespace deeplake
