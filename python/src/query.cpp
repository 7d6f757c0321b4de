#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "batch.h"
#include "convert.h"
#include "input.h"
#include "objects.h"

namespace deeplake {
namespace {

// What of a message is kept: the core puts the place in the query around it, and the details have to fit behind that.
constexpr size_t most_said = 1000;

void complain(dl_error* err, dl_status status, const std::string& message, const std::string& details = {}) {
    const size_t room = sizeof err->message;
    err->status = status;
    err->flags = 0;
    const size_t n = std::min(message.size(), most_said);
    std::memcpy(err->message, message.data(), n);
    err->message[n] = 0;
    if (!details.empty() && n + 1 + details.size() < room) {
        std::memcpy(err->message + n + 1, details.c_str(), details.size() + 1);
        err->flags |= DL_ERROR_DETAILS;
    }
}

// Functions of the user's, as queries call them: deeplake.tql.Function, each called with a list of columns and the
// number of rows. They live as long as the views of the query.
class Functions {
  public:
    explicit Functions(const py::object& functions) {
        for (py::handle f : functions) {
            const auto name = py::cast<std::string>(f.attr("name"));
            names_.push_back(name);
            callees_.push_back(py::reinterpret_borrow<py::object>(f));
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
            out.self = callees_.back().ptr();
            out.call = invoke;
            out.done = done;
            all_.push_back(out);
        }
    }
    Functions(const Functions&) = delete;
    Functions& operator=(const Functions&) = delete;

    const dl_function* data() const { return all_.data(); }
    std::int64_t size() const { return static_cast<std::int64_t>(all_.size()); }

  private:
    // Comes from any thread of the core.
    static dl_status invoke(void* self, dl_array_in* args, std::int64_t args_n, std::int64_t rows, dl_rows* out,
                            void** kept, dl_error* err) {
        if (finalizing()) {
            complain(err, DL_CANCELED, "call function: the interpreter ends");
            return DL_CANCELED;
        }
        const py::gil_scoped_acquire gil;
        const py::handle callee(static_cast<PyObject*>(self));
        try {
            py::list columns;
            for (std::int64_t i = 0; i < args_n; i++) columns.append(copy_array(args[i], rows));
            const py::object result = callee(columns, rows);
            const std::string dtype = py::cast<std::string>(callee.attr("dtype"));
            auto values = std::make_unique<Columns>("take result of", py::dict(py::arg("value") = result),
                                                    py::dict(py::arg("value") = dtype));
            *out = values->data()[0];
            *kept = values.release();
            return DL_OK;
        } catch (py::error_already_set& e) {
            // What is raised in the thread that waits for the query names this as its cause.
            const std::string id = remember(e.value());
            complain(err, DL_INVALID, said(callee, e.value()), "{\"cause\": " + id + "}");
        } catch (const Failure& e) {
            complain(err, e.status(), e.what());
        } catch (const std::exception& e) {
            complain(err, DL_INTERNAL, e.what());
        }
        return err->status;
    }

    // The message about an exception, whose own may be none that can be shown. Nothing may be thrown out of here: the
    // core has called us.
    static std::string said(py::handle callee, const py::object& raised) {
        try {
            const py::object text = callee.attr("failure")(raised).attr("encode")("utf-8", "backslashreplace");
            return py::cast<std::string>(text);
        } catch (...) {
            PyErr_Clear();
            return "call function: it raised an exception whose message cannot be read";
        }
    }

    static void done(void*, void* kept) {
        if (finalizing()) return;
        const py::gil_scoped_acquire gil;
        delete static_cast<Columns*>(kept);
    }

    std::deque<std::string> names_;
    std::deque<std::vector<std::int64_t>> shapes_;
    std::vector<py::object> callees_;
    std::vector<dl_function> all_;
};

// The arguments of a query, in the form in which the core takes them.
struct Asked {
    Asked(const std::string& query, const py::list& values, const py::object& user, const py::object& options)
        : text(query), json(options_json(options)), functions(std::make_shared<Functions>(user)) {
        for (py::handle item : values) {
            const auto pair = py::cast<py::tuple>(item);
            units.push_back(py::cast<std::string>(pair[0]));
            py::list one;
            one.append(pair[1]);
            const auto type = py::cast<std::string>(pair[2]);
            columns.emplace_back("take parameter of", py::dict(py::arg("value") = one),
                                 py::dict(py::arg("value") = type));
            params.push_back(columns.back().data()[0]);
            params.back().tensor = units.back().c_str();
        }
    }
    std::string text, json;
    std::deque<std::string> units;
    std::deque<Columns> columns;
    std::vector<dl_rows> params;
    std::shared_ptr<Functions> functions;
};

dl_view handle_of(const py::object& view) {
    return view.is_none() ? dl_view{0} : py::cast<const View&>(view).handle->get();
}

py::tuple query(const py::object& view, const std::string& text, const py::list& params, const py::object& functions,
                const py::object& options) {
    const Asked asked(text, params, functions, options);
    const dl_view h = handle_of(view);
    auto handle = view.is_none() ? std::make_shared<ViewHandle>(core())
                                 : std::make_shared<ViewHandle>(py::cast<const View&>(view).handle);
    handle->functions = asked.functions;
    const Core& c = handle->core();
    dl_view out{0};
    Buffer json;
    try {
        call_long(c, [&](dl_context ctx, dl_error* err) {
            return c.query(ctx, h, asked.text.c_str(), asked.params.data(),
                           static_cast<std::int64_t>(asked.params.size()), asked.functions->data(),
                           asked.functions->size(), asked.json.c_str(), &out, json.out(), err);
        });
    } catch (...) {
        handle->set(out);  // it may have been answered just as the user gave up; the destructor closes it
        throw;
    }
    handle->set(out);
    return py::make_tuple(View{std::move(handle)}, json.json());
}

py::object explain(const py::object& view, const std::string& text, const py::list& params, const py::object& functions,
                   const py::object& options) {
    const Asked asked(text, params, functions, options);
    const dl_view h = handle_of(view);
    const Core& c = view.is_none() ? core() : py::cast<const View&>(view).handle->core();
    Buffer json;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.query_explain(ctx, h, asked.text.c_str(), asked.params.data(),
                               static_cast<std::int64_t>(asked.params.size()), asked.functions->data(),
                               asked.functions->size(), asked.json.c_str(), json.out(), err);
    });
    return json.json();
}

void save(const Dataset& ds, const View& view, const std::string& name, const py::object& options) {
    const Core& c = ds.handle->core();
    const std::string json = options_json(options);
    const dl_dataset d = ds.handle->get();
    const dl_view h = view.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_save_view(ctx, d, h, name.c_str(), json.c_str(), err);
    });
}

py::tuple load(const Dataset& ds, const std::string& name, const py::list& params, const py::object& functions,
               const py::object& options) {
    const Asked asked("", params, functions, options);
    const Core& c = ds.handle->core();
    const dl_dataset d = ds.handle->get();
    auto handle = std::make_shared<ViewHandle>(ds.handle);
    handle->functions = asked.functions;
    dl_view out{0};
    Buffer json;
    try {
        call_long(c, [&](dl_context ctx, dl_error* err) {
            return c.dataset_load_view(ctx, d, name.c_str(), asked.params.data(),
                                       static_cast<std::int64_t>(asked.params.size()), asked.functions->data(),
                                       asked.functions->size(), asked.json.c_str(), &out, json.out(), err);
        });
    } catch (...) {
        handle->set(out);
        throw;
    }
    handle->set(out);
    return py::make_tuple(View{std::move(handle)}, json.json());
}

void materialize(const View& self, const std::string& uri, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    call_long(
        c, [&](dl_context ctx, dl_error* err) { return c.view_materialize(ctx, h, uri.c_str(), json.c_str(), err); });
}

py::object vocabulary() {
    const Core& c = core();
    Buffer json;
    call([&](dl_error* err) { return c.query_functions(json.out(), err); });
    return json.json();
}

}  // namespace

void register_query(py::module_& m) {
    using py::arg;
    m.def("query", query, arg("view"), arg("text"), arg("params"), arg("functions"), arg("options") = py::none());
    m.def("explain", explain, arg("view"), arg("text"), arg("params"), arg("functions"), arg("options") = py::none());
    m.def("vocabulary", vocabulary);
    m.def("save_view", save, arg("dataset"), arg("view"), arg("name"), arg("options") = py::none());
    m.def("load_view", load, arg("dataset"), arg("name"), arg("params"), arg("functions"), arg("options") = py::none());
    m.def("materialize", materialize, arg("view"), arg("uri"), arg("options") = py::none());
}

}  // namespace deeplake
