#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "functions.h"
#include "input.h"
#include "objects.h"

namespace deeplake {
namespace {

// The arguments of a query in the form of the C interface.
struct Asked {
    Asked(const std::string& query, const py::list& values, const py::object& user,
          const py::object& options)
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
            params.back().counts = units.back().c_str();
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

// Returns the interrupt of the functions that a query calls: its own functions, and functions of
// the queried views.
Interrupt interrupt(const ViewHandle& handle) {
    return [&handle](std::uint64_t press) { interrupt_functions(handle, press); };
}

py::tuple query(const py::object& view, const Text& text, const py::list& params,
                const py::object& functions, const py::object& options) {
    const Asked asked(text, params, functions, options);
    const dl_view h = handle_of(view);
    auto handle = view.is_none() ? std::make_shared<ViewHandle>(core())
                                 : std::make_shared<ViewHandle>(py::cast<const View&>(view).handle);
    handle->functions = asked.functions;
    const Core& c = handle->core();
    dl_view out{0};
    Buffer json;
    try {
        call_long(
            c,
            [&](dl_context ctx, dl_error* err) {
                return c.query(ctx, h, asked.text.c_str(), asked.params.data(),
                               static_cast<std::int64_t>(asked.params.size()),
                               asked.functions->data(), asked.functions->size(), asked.json.c_str(),
                               &out, json.out(), err);
            },
            interrupt(*handle));
    } catch (...) {
        // it may have been answered just before the interrupt; the destructor closes it
        handle->set(out);
        throw;
    }
    handle->set(out);
    return py::make_tuple(View{std::move(handle)}, json.json());
}

py::object explain(const py::object& view, const Text& text, const py::list& params,
                   const py::object& functions, const py::object& options) {
    const Asked asked(text, params, functions, options);
    const dl_view h = handle_of(view);
    const auto handle = view.is_none()
                            ? std::make_shared<ViewHandle>(core())
                            : std::make_shared<ViewHandle>(py::cast<const View&>(view).handle);
    handle->functions = asked.functions;
    const Core& c = handle->core();
    Buffer json;
    call_long(
        c,
        [&](dl_context ctx, dl_error* err) {
            return c.query_explain(ctx, h, asked.text.c_str(), asked.params.data(),
                                   static_cast<std::int64_t>(asked.params.size()),
                                   asked.functions->data(), asked.functions->size(),
                                   asked.json.c_str(), json.out(), err);
        },
        interrupt(*handle));
    return json.json();
}

void save(const Dataset& ds, const View& view, const Text& name, const py::object& options) {
    const Core& c = ds.handle->core();
    const std::string json = options_json(options);
    const dl_dataset d = ds.handle->get();
    const dl_view h = view.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_save_view(ctx, d, h, name.c_str(), json.c_str(), err);
    });
}

py::tuple load(const Dataset& ds, const Text& name, const py::object& functions,
               const py::object& options) {
    const Asked asked("", py::list(), functions, options);
    const Core& c = ds.handle->core();
    const dl_dataset d = ds.handle->get();
    auto handle = std::make_shared<ViewHandle>(ds.handle);
    handle->functions = asked.functions;
    dl_view out{0};
    Buffer json;
    try {
        call_long(
            c,
            [&](dl_context ctx, dl_error* err) {
                return c.dataset_load_view(ctx, d, name.c_str(), nullptr, 0,
                                           asked.functions->data(), asked.functions->size(),
                                           asked.json.c_str(), &out, json.out(), err);
            },
            interrupt(*handle));
    } catch (...) {
        handle->set(out);
        throw;
    }
    handle->set(out);
    return py::make_tuple(View{std::move(handle)}, json.json());
}

void materialize(const View& self, const Text& uri, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    call_long(
        c,
        [&](dl_context ctx, dl_error* err) {
            return c.view_materialize(ctx, h, uri.c_str(), json.c_str(), err);
        },
        interrupt(*self.handle));
}

void check_function(const Text& name) {
    const Core& c = core();
    call([&](dl_error* err) { return c.query_check_function(name.c_str(), err); });
}

py::object parameters(const Text& text) {
    const Core& c = core();
    Buffer json;
    call([&](dl_error* err) { return c.query_parameters(text.c_str(), json.out(), err); });
    return json.json();
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
    m.def("query", query, arg("view"), arg("text"), arg("params"), arg("functions"),
          arg("options") = py::none());
    m.def("explain", explain, arg("view"), arg("text"), arg("params"), arg("functions"),
          arg("options") = py::none());
    m.def("check_function", check_function, arg("name"));
    m.def("query_parameters", parameters, arg("text"));
    m.def("vocabulary", vocabulary);
    m.def("save_view", save, arg("dataset"), arg("view"), arg("name"), arg("options") = py::none());
    m.def("load_view", load, arg("dataset"), arg("name"), arg("functions"),
          arg("options") = py::none());
    m.def("materialize", materialize, arg("view"), arg("uri"), arg("options") = py::none());
}

}  // namespace deeplake
