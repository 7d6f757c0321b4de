#include <vector>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

// Makes a call that may take long with the handle of a dataset.
template <class F>
void with_dataset(const Dataset& self, F&& f) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    call_long(c, [&](dl_context ctx, dl_error* err) { return f(c, ctx, h, err); });
}

// The same, for calls that answer with JSON.
template <class F>
py::object ask(const Dataset& self, F&& f) {
    Buffer json;
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return f(c, ctx, h, json.out(), err);
    });
    return json.json();
}

py::object branches(const Dataset& self) {
    return ask(self, [](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                        dl_error* err) { return c.dataset_branches(ctx, h, out, err); });
}

void create_branch(const Dataset& self, const py::object& name, const py::object& at) {
    const std::string n = to_text("create branch", "name", name);
    const std::string ref = to_text("create branch", "at", at);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_create_branch(ctx, h, n.c_str(), ref.c_str(), err);
    });
}

void delete_branch(const Dataset& self, const py::object& name) {
    const std::string n = to_text("delete branch", "name", name);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_delete_branch(ctx, h, n.c_str(), err);
    });
}

void checkout(const Dataset& self, const py::object& ref, bool create) {
    const std::string name = to_text("checkout", "ref", ref);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_checkout(ctx, h, name.c_str(), create, err);
    });
}

py::object tags(const Dataset& self) {
    return ask(self, [](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                        dl_error* err) { return c.dataset_tags(ctx, h, out, err); });
}

py::object create_tag(const Dataset& self, const py::object& name, const py::object& at,
                      const py::object& message) {
    const std::string n = to_text("create tag", "name", name);
    const std::string ref = to_text("create tag", "at", at);
    const std::string text = to_text("create tag", "message", message);
    return ask(
        self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
            return c.dataset_create_tag(ctx, h, n.c_str(), ref.c_str(), text.c_str(), out, err);
        });
}

void delete_tag(const Dataset& self, const py::object& name) {
    const std::string n = to_text("delete tag", "name", name);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_delete_tag(ctx, h, n.c_str(), err);
    });
}

py::object graph(const Dataset& self, std::int64_t limit, bool all) {
    return ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                         dl_error* err) { return c.dataset_graph(ctx, h, limit, all, out, err); });
}

py::object diff(const Dataset& self, const py::object& a, const py::object& b) {
    const std::string from = to_text("diff", "a", a), to = to_text("diff", "b", b);
    return ask(self,
               [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
                   return c.dataset_diff(ctx, h, from.c_str(), to.c_str(), out, err);
               });
}

py::object history(const Dataset& self, std::int64_t row, std::int64_t limit) {
    return ask(self,
               [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
                   return c.dataset_history(ctx, h, row, limit, out, err);
               });
}

py::object row_names(const Dataset& self, const py::object& rows) {
    const Numbers at = to_rows(rows);
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    return ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                         dl_error* err) { return c.dataset_row_names(ctx, h, data, n, out, err); });
}

py::dict merge(const Dataset& self, const py::object& ref, const py::object& on_conflict,
               const py::object& message) {
    const std::string of = to_text("merge", "ref", ref);
    const std::string on = to_text("merge", "on_conflict", on_conflict);
    const std::string text = to_text("merge", "message", message);
    std::int32_t merged = 0;
    const py::object commit =
        ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
            return c.dataset_merge(ctx, h, of.c_str(), on.c_str(), text.c_str(), &merged, out, err);
        });
    return py::dict(py::arg("commit") = commit, py::arg("merged") = merged != 0);
}

py::dict restore(const Dataset& self, const py::object& ref, const py::object& message) {
    const std::string of = to_text("restore", "at", ref);
    const std::string text = to_text("restore", "message", message);
    std::int32_t done = 0;
    const py::object commit =
        ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
            return c.dataset_restore(ctx, h, of.c_str(), text.c_str(), &done, out, err);
        });
    return py::dict(py::arg("commit") = commit, py::arg("restored") = done != 0);
}

py::dict revert(const Dataset& self, const py::object& ref, const py::object& on_conflict,
                const py::object& message) {
    const std::string of = to_text("revert", "commit", ref);
    const std::string on = to_text("revert", "on_conflict", on_conflict);
    const std::string text = to_text("revert", "message", message);
    std::int32_t done = 0;
    const py::object commit =
        ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
            return c.dataset_revert(ctx, h, of.c_str(), on.c_str(), text.c_str(), &done, out, err);
        });
    return py::dict(py::arg("commit") = commit, py::arg("reverted") = done != 0);
}

void rename_tensor(const Dataset& self, const py::object& from, const py::object& to) {
    const std::string old_name = to_text("rename tensor", "old", from);
    const std::string new_name = to_text("rename tensor", "new", to);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_rename_tensor(ctx, h, old_name.c_str(), new_name.c_str(), err);
    });
}

void change_classes(const Dataset& self, const py::object& name, const py::object& change) {
    const std::string n = to_text("change classes", "tensor", name);
    const std::string json = options_json(change);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_change_classes(ctx, h, n.c_str(), json.c_str(), err);
    });
}

void delete_tensor(const Dataset& self, const py::object& name) {
    const std::string n = to_text("delete tensor", "name", name);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_delete_tensor(ctx, h, n.c_str(), err);
    });
}

py::object views(const Dataset& self) {
    return ask(self, [](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                        dl_error* err) { return c.dataset_views(ctx, h, out, err); });
}

void delete_view(const Dataset& self, const py::object& name) {
    const std::string n = to_text("delete view", "name", name);
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_delete_view(ctx, h, n.c_str(), err);
    });
}

py::dict gc(const Dataset& self, const py::object& older_than, const py::object& expire,
            const py::object& keep_last, bool dry_run) {
    const auto age = to_real("gc", "older_than", older_than);
    const auto expired = to_real("gc", "expire", expire);
    const auto kept = to_integer("gc", "keep_last", keep_last);
    dl_gc_report r{};
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_gc(ctx, h, age ? &*age : nullptr, expired ? &*expired : nullptr,
                            kept ? &*kept : nullptr, dry_run, &r, err);
    });
    return py::dict(py::arg("dry_run") = dry_run, py::arg("objects") = r.objects,
                    py::arg("bytes") = r.bytes, py::arg("temp_files") = r.temp_files,
                    py::arg("temp_bytes") = r.temp_bytes, py::arg("young") = r.young,
                    py::arg("young_bytes") = r.young_bytes, py::arg("expired") = r.expired,
                    py::arg("commits") = r.commits, py::arg("kept") = r.kept,
                    py::arg("kept_bytes") = r.kept_bytes);
}

py::object fsck(const Dataset& self, bool data, bool repair) {
    return ask(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out,
                         dl_error* err) { return c.dataset_fsck(ctx, h, data, repair, out, err); });
}

py::dict progress(const Dataset& self) {
    const Core& c = self.handle->core();
    const dl_dataset h = self.handle->get();
    dl_progress p{};
    call([&](dl_error* err) { return c.dataset_progress(h, &p, err); });
    return py::dict(py::arg("items") = p.items, py::arg("bytes") = p.bytes,
                    py::arg("total_items") = p.total_items, py::arg("total_bytes") = p.total_bytes);
}

py::dict copied(const dl_copy_report& r) {
    return py::dict(py::arg("objects") = r.objects, py::arg("bytes") = r.bytes,
                    py::arg("skipped") = r.skipped, py::arg("server") = r.server,
                    py::arg("commits") = r.commits);
}

py::dict copy_to(const Dataset& self, const py::object& uri, bool history,
                 const py::object& message, const py::object& store) {
    const std::string target = to_text("copy", "uri", uri);
    const std::string text = to_text("copy", "message", message);
    const std::string to = options_json(store);
    dl_copy_report r{};
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_copy_to(ctx, h, target.c_str(), history, text.c_str(), to.c_str(), &r,
                                 err);
    });
    return copied(r);
}

py::dict copy(const Text& src, const Text& dst, const py::object& options) {
    const Core& c = core();
    const std::string text = options_json(options);
    dl_copy_report r{};
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.dataset_copy(ctx, src.c_str(), dst.c_str(), text.c_str(), &r, err);
    });
    return copied(r);
}

py::object commit_once(const Dataset& self, const py::object& message, const py::object& key) {
    const std::string text = to_text("commit", "message", message);
    const std::string name = to_text("commit", "idempotency_key", key);
    return ask(self,
               [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
                   return c.dataset_commit_once(ctx, h, text.c_str(), name.c_str(), out, err);
               });
}

py::str begin_write(const Dataset& self, const py::object& lease) {
    const auto within = to_real("distributed_write", "lease", lease);
    Buffer token;
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_begin_write(ctx, h, within ? &*within : nullptr, token.out(), err);
    });
    return token.text();
}

void end_write(const Dataset& self, const Text& token) {
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_end_write(ctx, h, token.c_str(), err);
    });
}

py::str fragment(const Dataset& self) {
    Buffer json;
    with_dataset(self, [&](const Core& c, dl_context ctx, dl_dataset h, dl_error* err) {
        return c.dataset_fragment(ctx, h, json.out(), err);
    });
    return json.text();
}

py::object commit_fragments(const Dataset& self, const Text& token, const py::list& fragments,
                            const py::object& options) {
    std::vector<std::string> texts;
    for (py::handle one : fragments)
        texts.push_back(to_text("commit", "fragments", py::reinterpret_borrow<py::object>(one)));
    std::vector<const char*> list;
    for (const std::string& one : texts) list.push_back(one.c_str());
    const std::string json = options_json(options);
    return ask(self,
               [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
                   return c.dataset_commit_fragments(ctx, h, token.c_str(), list.data(),
                                                     static_cast<std::int64_t>(list.size()),
                                                     json.c_str(), out, err);
               });
}

py::object rechunk(const Dataset& self, const py::object& options) {
    const std::string json = options_json(options);
    return ask(self,
               [&](const Core& c, dl_context ctx, dl_dataset h, dl_buffer* out, dl_error* err) {
                   return c.dataset_rechunk_rows(ctx, h, json.c_str(), out, err);
               });
}

}  // namespace

void register_versions(py::module_& m, py::class_<Dataset>& dataset) {
    using py::arg;
    m.def("copy", copy, arg("src"), arg("dst"), arg("options") = py::none());
    dataset.def("branches", branches)
        .def("create_branch", create_branch, arg("name"), arg("at") = "")
        .def("delete_branch", delete_branch, arg("name"))
        .def("checkout", checkout, arg("ref"), arg("create") = false)
        .def("tags", tags)
        .def("create_tag", create_tag, arg("name"), arg("at") = "", arg("message") = "")
        .def("delete_tag", delete_tag, arg("name"))
        .def("graph", graph, arg("limit") = 0, arg("all") = false)
        .def("diff", diff, arg("a"), arg("b") = "")
        .def("history", history, arg("row"), arg("limit") = 0)
        .def("row_names", row_names, arg("rows"))
        .def("merge", merge, arg("ref"), arg("on_conflict") = "error", arg("message") = "")
        .def("change_classes", change_classes, arg("name"), arg("change"))
        .def("restore", restore, arg("ref"), arg("message") = "")
        .def("revert", revert, arg("ref"), arg("on_conflict") = "error", arg("message") = "")
        .def("rename_tensor", rename_tensor, arg("old"), arg("new"))
        .def("delete_tensor", delete_tensor, arg("name"))
        .def("views", views)
        .def("delete_view", delete_view, arg("name"))
        .def("gc", gc, arg("older_than") = py::none(), arg("expire") = py::none(),
             arg("keep_last") = py::none(), arg("dry_run") = false)
        .def("fsck", fsck, arg("data") = true, arg("repair") = false)
        .def("progress", progress)
        .def("commit_once", commit_once, arg("message"), arg("key"))
        .def("begin_write", begin_write, arg("lease") = py::none())
        .def("end_write", end_write, arg("token"))
        .def("fragment", fragment)
        .def("rechunk", rechunk, arg("options"))
        .def("commit_fragments", commit_fragments, arg("token"), arg("fragments"),
             arg("options") = py::none())
        .def("copy_to", copy_to, arg("uri"), arg("history") = false, arg("message") = "",
             arg("store") = py::none());
}

}  // namespace deeplake
