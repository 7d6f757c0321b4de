#include "convert.h"
#include "input.h"
#include "objects.h"

namespace deeplake {
namespace {

// Smaller appends end before a user could press a key, so they run in the calling thread.
constexpr std::int64_t long_append = 1 << 20;

// Makes a dataset handle by a call that may take long.
template <class F>
Dataset make(const Core& c, F&& f) {
    Dataset ds{std::make_shared<DatasetHandle>(c)};
    dl_dataset out{0};
    try {
        call_long(c, [&](dl_context ctx, dl_error* err) { return f(ctx, &out, err); });
    } catch (...) {
        // it may have been opened just before the interrupt; the destructor closes it
        ds.handle->set(out);
        throw;
    }
    ds.handle->set(out);
    return ds;
}

// Adds the settings of the store to the options of a call.
std::string with_store(py::dict options, const py::object& store) {
    if (!store.is_none()) options.attr("update")(store);
    return to_json(options);
}

Dataset create(const Text& uri, bool overwrite, const py::list& tensors, const py::object& store,
               bool at_commit) {
    const Core& c = core();
    const std::string options =
        with_store(py::dict(py::arg("overwrite") = overwrite, py::arg("tensors") = tensors,
                            py::arg("at_commit") = at_commit),
                   store);
    return make(c, [&](dl_context ctx, dl_dataset* out, dl_error* err) {
        return c.dataset_create(ctx, uri.c_str(), options.c_str(), out, err);
    });
}

Dataset open(const Text& uri, const Text& branch, const Text& at, bool read_only,
             const py::object& store) {
    const Core& c = core();
    const std::string options = with_store(
        py::dict(py::arg("branch") = branch, py::arg("at") = at, py::arg("read_only") = read_only),
        store);
    return make(c, [&](dl_context ctx, dl_dataset* out, dl_error* err) {
        return c.dataset_open(ctx, uri.c_str(), options.c_str(), out, err);
    });
}

Dataset open_task(const Text& uri, const Text& token, const Text& key, const py::object& store) {
    const Core& c = core();
    const std::string options = options_json(store);
    return make(c, [&](dl_context ctx, dl_dataset* out, dl_error* err) {
        return c.task_open(ctx, uri.c_str(), token.c_str(), key.c_str(), options.c_str(), out, err);
    });
}

bool exists(const Text& uri, const py::object& store) {
    const Core& c = core();
    const std::string options = options_json(store);
    std::int32_t out = 0;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_exists(ctx, uri.c_str(), options.c_str(), &out, err);
    });
    return out != 0;
}

void remove(const Text& uri, const py::object& store) {
    const Core& c = core();
    const std::string options = options_json(store);
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_delete(ctx, uri.c_str(), options.c_str(), err);
    });
}

py::object datasets(const Text& uri, const py::object& store) {
    const Core& c = core();
    const std::string options = options_json(store);
    Buffer json;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_list(ctx, uri.c_str(), options.c_str(), json.out(), err);
    });
    return json.json();
}

py::str resolve(const Text& uri, const py::object& environ) {
    const Core& c = core();
    const std::string options = options_json(py::dict(py::arg("environ") = environ));
    Buffer place;
    call([&](dl_error* err) {
        return c.uri_resolve(uri.c_str(), options.c_str(), place.out(), err);
    });
    return place.text();
}

py::object root_of(const Text& uri, const py::object& environ) {
    const Core& c = core();
    const std::string options = options_json(py::dict(py::arg("environ") = environ));
    Buffer json;
    call([&](dl_error* err) { return c.uri_root(uri.c_str(), options.c_str(), json.out(), err); });
    return json.json();
}

py::object orgs(const py::object& environ) {
    const Core& c = core();
    const std::string options = options_json(py::dict(py::arg("environ") = environ));
    Buffer json;
    call([&](dl_error* err) { return c.uri_orgs(options.c_str(), json.out(), err); });
    return json.json();
}

py::object describe(const Dataset& self) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.dataset_describe(h, json.out(), err); });
    return json.json();
}

void create_tensor(const Dataset& self, const py::object& spec) {
    const Core& c = self.handle->core();
    const std::string json = options_json(spec);
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_create_tensor(ctx, h, json.c_str(), err);
    });
}

// Makes a call that takes Columns, in another thread if there is much to write.
template <class F>
void write(const Core& c, const Columns& columns, F&& f) {
    if (columns.bytes() >= long_append) {
        call_long(c, f);
    } else {
        call([&](dl_error* err) { return f(dl_context{0}, err); });
    }
}

std::int64_t append(const Dataset& self, const py::object& values, const py::object& types) {
    const Core& c = self.handle->core();
    const Columns columns("append to", values, types, true);
    const dl_dataset h = self.handle->get();
    write(c, columns, [&](dl_context ctx, dl_error* err) {
        return c.dataset_append(ctx, h, columns.data(), columns.size(), columns.rows(), err);
    });
    return columns.rows();
}

std::int64_t append_stream(const Dataset& self, const py::object& value) {
    const Core& c = self.handle->core();
    const ArrowStream stream(value);
    const dl_dataset h = self.handle->get();
    std::int64_t rows = 0;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_append_stream(ctx, h, stream.get(), &rows, err);
    });
    return rows;
}

void update(const Dataset& self, const py::object& rows, const py::object& values,
            const py::object& types) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const Columns columns("update", values, types, true);
    if (columns.size() > 0 && columns.rows() != at.size()) {
        throw Failure(DL_INVALID, "update: there are " + std::to_string(columns.rows()) +
                                      " values for " + std::to_string(at.size()) + " rows");
    }
    const dl_dataset h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_update(ctx, h, data, n, columns.data(), columns.size(), err);
    });
}

void delete_rows(const Dataset& self, const py::object& rows) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const dl_dataset h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_delete_rows(ctx, h, data, n, err);
    });
}

void update_rows_of(const Dataset& self, const View& view, const py::object& values,
                    const py::object& types) {
    const Core& c = self.handle->core();
    const dl_view rows = view.handle->get();
    std::int64_t n = 0;
    dl_error error;
    check(c.view_len(rows, &n, &error), error);
    const Columns columns("update", values, types, true);
    if (columns.size() > 0 && columns.rows() != n) {
        throw Failure(DL_INVALID, "update: there are " + std::to_string(columns.rows()) +
                                      " values for " + std::to_string(n) + " rows");
    }
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_update_rows_of(ctx, h, rows, columns.data(), columns.size(), err);
    });
}

void delete_rows_of(const Dataset& self, const View& view) {
    const Core& c = self.handle->core();
    const dl_view rows = view.handle->get();
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_delete_rows_of(ctx, h, rows, err);
    });
}

void set_info(const Dataset& self, const py::object& info) {
    const Core& c = self.handle->core();
    const std::string json = to_json(py::dict(info));
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_set_info(ctx, h, json.c_str(), err);
    });
}

py::object commit(const Dataset& self, const py::object& message) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    const std::string text = to_text("commit", "message", message);
    Buffer json;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_commit(ctx, h, text.c_str(), json.out(), err);
    });
    return json.json();
}

void discard(const Dataset& self) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) { return c.dataset_discard(ctx, h, err); });
}

void refresh(const Dataset& self) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) { return c.dataset_refresh(ctx, h, err); });
}

py::object log(const Dataset& self, std::int64_t limit) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    Buffer json;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_log(ctx, h, limit, json.out(), err);
    });
    return json.json();
}

Dataset at(const Dataset& self, const Text& ref) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    return make(c, [&](dl_context ctx, dl_dataset* out, dl_error* err) {
        return c.dataset_at(ctx, h, ref.c_str(), out, err);
    });
}

View view(const Dataset& self) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call_long(c, [&](dl_context ctx, dl_error* err) { return c.dataset_view(ctx, h, &out, err); });
    v.handle->set(out);
    return v;
}

}  // namespace

void register_dataset(py::module_& m) {
    using py::arg;
    m.def("create", create, arg("uri"), py::kw_only(), arg("overwrite") = false,
          arg("tensors") = py::list(), arg("store") = py::none(), arg("at_commit") = false);
    m.def("open", open, arg("uri"), py::kw_only(), arg("branch") = "", arg("at") = "",
          arg("read_only") = false, arg("store") = py::none());
    m.def("open_task", open_task, arg("uri"), arg("token"), arg("key"), py::kw_only(),
          arg("store") = py::none());
    m.def("exists", exists, arg("uri"), py::kw_only(), arg("store") = py::none());
    m.def("delete", remove, arg("uri"), py::kw_only(), arg("store") = py::none());
    m.def("resolve", resolve, arg("uri"), arg("environ"));
    m.def("root_of", root_of, arg("uri"), arg("environ"));
    m.def("orgs", orgs, arg("environ"));
    m.def("datasets", datasets, arg("uri"), py::kw_only(), arg("store") = py::none());
    py::class_<Dataset> dataset = declare<Dataset>(m, "Dataset");
    dataset.def("describe", describe)
        .def("create_tensor", create_tensor, arg("spec"))
        .def("append", append, arg("columns"), arg("types") = py::none())
        .def("append_stream", append_stream, arg("stream"))
        .def("update", update, arg("rows"), arg("columns"), arg("types") = py::none())
        .def("delete_rows", delete_rows, arg("rows"))
        .def("update_rows_of", update_rows_of, arg("view"), arg("columns"),
             arg("types") = py::none())
        .def("delete_rows_of", delete_rows_of, arg("view"))
        .def("set_info", set_info, arg("info"))
        .def("commit", commit, arg("message") = "")
        .def("discard", discard)
        .def("refresh", refresh)
        .def("log", log, arg("limit") = 0)
        .def("at", at, arg("ref"))
        .def("view", view);
    register_versions(m, dataset);
}

}  // namespace deeplake
