#include <vector>

#include "batch.h"
#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

struct Loader {
    std::shared_ptr<LoaderHandle> handle;
    Device device;  // of its batches
};

// Returns the device in the options of a loader; the CPU if it is None or missing.
Device device_of(const py::object& options) {
    const py::object given =
        options.is_none() ? options : options.attr("get")("device", py::none());
    if (given.is_none()) return {};
    return {py::cast<std::int32_t>(given["type"]), py::cast<std::int32_t>(given["id"])};
}

Loader open(const View& self, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    Loader l{std::make_shared<LoaderHandle>(c, LoaderOwners{{self.handle}}), device_of(options)};
    dl_loader out{0};
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.loader_open(ctx, h, json.c_str(), &out, err);
    });
    l.handle->set(out);
    return l;
}

// Returns the JSON of a pass, or of all of an epoch given by its number.
std::string pass_json(const py::object& pass) {
    return py::isinstance<py::int_>(pass) ? options_json(py::dict(py::arg("epoch") = pass))
                                          : options_json(pass);
}

Loader mix(const py::list& views, const py::object& how, const py::object& options) {
    const Core& c = core();
    const std::string mix_json = options_json(how), json = options_json(options);
    std::vector<std::shared_ptr<ViewHandle>> handles;
    std::vector<dl_view> list;
    for (py::handle view : views) {
        handles.push_back(py::cast<const View&>(view).handle);
        list.push_back(handles.back()->get());
    }
    Loader l{std::make_shared<LoaderHandle>(c, LoaderOwners{std::move(handles)}),
             device_of(options)};
    dl_loader out{0};
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.loader_mix(ctx, list.data(), static_cast<std::int64_t>(list.size()),
                            mix_json.c_str(), json.c_str(), &out, err);
    });
    l.handle->set(out);
    return l;
}

std::int64_t length(const Loader& self, const py::object& pass) {
    const Core& c = self.handle->core();
    const std::string json = pass_json(pass);
    const dl_loader h = self.handle->get();
    std::int64_t n = 0;
    call([&](dl_error* err) { return c.loader_len(h, json.c_str(), &n, err); });
    return n;
}

py::object state(const Loader& self, std::int64_t epoch, std::int64_t position) {
    const Core& c = self.handle->core();
    const dl_loader h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.loader_state(h, epoch, position, json.out(), err); });
    return json.json();
}

py::tuple resume(const Loader& self, const py::object& state) {
    const Core& c = self.handle->core();
    const std::string json = to_json(state);
    const dl_loader h = self.handle->get();
    std::int64_t epoch = 0, position = 0;
    call([&](dl_error* err) { return c.loader_resume(h, json.c_str(), &epoch, &position, err); });
    return py::make_tuple(epoch, position);
}

Epoch start(const Loader& self, const py::object& pass) {
    const Core& c = self.handle->core();
    const std::string json = pass_json(pass);
    const dl_loader h = self.handle->get();
    Epoch e{std::make_shared<EpochHandle>(self.handle), self.device};
    dl_epoch out{0};
    call([&](dl_error* err) { return c.loader_start(h, json.c_str(), &out, err); });
    e.handle->set(out);
    return e;
}

py::object stats(const Loader& self) {
    const Core& c = self.handle->core();
    const dl_loader h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.loader_stats(h, json.out(), err); });
    return json.json();
}

py::bytes trace(const Loader& self) {
    const Core& c = self.handle->core();
    const dl_loader h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.loader_trace(h, json.out(), err); });
    return json.bytes();
}

std::shared_ptr<Batch> next(const Epoch& self) {
    const BatchExport exported = next_export(*self.handle, self.device);
    if (!exported) throw py::stop_iteration();
    return unpack(exported);
}

}  // namespace

void register_loader(py::module_& m) {
    using py::arg;
    declare<Epoch>(m, "Epoch")
        .def("__iter__", [](py::object self) { return self; })
        .def("__next__", next)
        .def("stream", stream, arg("position"), arg("convert") = py::none(),
             arg("current") = py::none());
    declare<Loader>(m, "Loader")
        .def("__len__", [](const Loader& self) { return length(self, py::none()); })
        .def("batches", length, arg("pass_") = py::none())
        .def("start", start, arg("pass_") = py::none())
        .def("state", state, arg("epoch"), arg("position"))
        .def("resume", resume, arg("state"))
        .def(
            "memory",
            [](const Loader& self, std::int64_t size) { return results(*self.handle, size); },
            arg("size"))
        .def("stats", stats)
        .def("trace", trace);
    m.def("mix", mix, arg("views"), arg("how"), arg("options"));
    // Declared here, with the class of its result.
    py::object view = m.attr("View");
    view.attr("loader") =
        py::cpp_function(open, py::name("loader"), py::is_method(view), arg("options"));
}

}  // namespace deeplake
