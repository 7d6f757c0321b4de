#include "input.h"

#include <pybind11/numpy.h>

#include "convert.h"
#include "errors.h"
#include "foreign.h"
#include "literal.h"

namespace deeplake {
namespace {

bool is_text(py::handle v) { return PyUnicode_Check(v.ptr()) || is_bytes(v); }

// Thrown where a column turns out to count time: it begins again, as numbers.
struct CountsTime {};

}  // namespace

// The values of one tensor on their way in.
class Column {
  public:
    Column(Columns& all, const char* op, const std::string& name, const std::string& type)
        : all_(all), op_(op), name_(name) {
        const std::string sequence = "sequence[";
        sequence_ = type.compare(0, sequence.size(), sequence) == 0;
        type_ = sequence_ ? type.substr(sequence.size(), type.size() - sequence.size() - 1) : type;
        out_.tensor = name.c_str();
    }

    dl_rows take(const py::object& value) {
        if (py::hasattr(value, "__deeplake_values__")) return take_known(value);
        if (all_.arrow_ && is_arrow(value)) return take_arrow(value);
        try {
            take_any(value);
        } catch (const CountsTime&) {
            out_ = dl_rows{};
            row_ = -1;
            const char* count = sequence_ ? "count_lists" : "count";
            py::object known = python("deeplake._samples.column", count, value);
            out_.tensor = name_.c_str();
            return take_known(known);
        }
        return out_;
    }

  private:
    [[noreturn]] void fail(dl_status status, const std::string& what) const {
        const std::string row = row_ < 0 ? "" : "row " + std::to_string(row_) + " ";
        throw Failure(status, std::string(op_) + " tensor \"" + name_ + "\": " + row + what);
    }

    // Calls a function of the package on a value. Its errors begin like those of this column.
    template <class... Args>
    py::object python(const char* module, const char* function, const Args&... args) const {
        try {
            return py::module_::import(module).attr(function)(args...);
        } catch (py::error_already_set& e) {
            const py::module_ errors = py::module_::import("deeplake._errors");
            if (!e.matches(errors.attr("Error"))) throw;
            const bool type = e.matches(errors.attr("TensorTypeError"));
            fail_from(py::reinterpret_borrow<py::object>(e.value()), type ? DL_TYPE : DL_INVALID,
                      py::cast<std::string>(py::str(e.value())));
        }
    }

    [[noreturn]] void fail(const Refused& e) const { fail_from(e.cause, e.status, e.reason); }

    // Fails with the exception of another library as the cause.
    [[noreturn]] void fail_from(const py::object& cause, dl_status status,
                                const std::string& what) const {
        try {
            fail(status, what);
        } catch (const Failure& failure) {
            if (!cause) throw;
            raise_from(failure, cause);
        }
    }

    void take_any(const py::object& value) {
        if (sequence_) {
            take_sequences(value);
        } else if (type_ == "json") {
            take_samples(value);
        } else if (is_array(value) || PyMemoryView_Check(value.ptr())) {
            take_array(value);
        } else {
            take_samples(value);
        }
    }

    // Takes a column of deeplake._samples.column.Column: an array or a list of samples, the rows
    // that have none, and what its numbers count.
    dl_rows take_known(const py::object& column) {
        const std::string& counts =
            all_.names_.emplace_back(py::cast<std::string>(column.attr("__deeplake_counts__")));
        take_any(column.attr("__deeplake_values__"));
        const py::object missing = column.attr("__deeplake_missing__");
        if (!missing.is_none()) leave_out(py::array_t<bool>(missing));
        if (!counts.empty()) out_.counts = counts.c_str();
        const py::object names = column.attr("__deeplake_names__");
        if (!names.is_none()) take_names(names);
        return out_;
    }

    dl_rows take_arrow(const py::object& value) {
        ArrowColumn& column = all_.arrows_.emplace_back(value);
        out_.n = column.rows();
        out_.arrow_schema = column.schema();
        out_.arrow = column.arrays();
        out_.arrow_n = column.size();
        all_.bytes_ += out_.n * 8;  // an estimate
        return out_;
    }

    // Takes the names of the classes that the values number.
    void take_names(const py::list& names) {
        std::vector<const char*>& texts = all_.texts_.emplace_back();
        for (const py::handle name : names) {
            if (!PyUnicode_Check(name.ptr()))
                fail(DL_TYPE, "the column has a class named by a " + type_name(name) +
                                  ", want names that are str");
            Py_ssize_t size = 0;
            const char* text = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
            if (text == nullptr ||
                std::char_traits<char>::length(text) != static_cast<size_t>(size)) {
                PyErr_Clear();
                fail(DL_INVALID, "the column has a class with a character that text cannot have");
            }
            keep(py::reinterpret_borrow<py::object>(name));
            texts.push_back(text);
        }
        static const char* const none = nullptr;
        out_.names = texts.empty() ? &none : texts.data();
        out_.names_n = static_cast<std::int64_t>(texts.size());
    }

    // Makes holes of the rows that are missing.
    void leave_out(const py::array_t<bool>& missing) {
        const auto at = missing.unchecked<1>();
        if (at.shape(0) != out_.n)
            fail(DL_INTERNAL, "the column has " + std::to_string(out_.n) + " rows and " +
                                  std::to_string(at.shape(0)) + " marks of missing ones");
        if (out_.samples == nullptr) {
            std::vector<dl_sample>& samples =
                all_.samples_.emplace_back(static_cast<size_t>(out_.n));
            const std::int64_t size = out_.n > 0 ? out_.bytes / out_.n : 0;
            for (std::int64_t i = 0; i < out_.n; i++) {
                dl_sample& s = samples[static_cast<size_t>(i)];
                s.data = static_cast<const char*>(out_.data) + i * size;
                s.bytes = size;
                s.shape = out_.shape;
                s.ndim = out_.ndim;
                s.dtype = out_.dtype;
                s.form = DL_FORM_ARRAY;
                s.flags = out_.flags;
            }
            finish(samples, static_cast<Py_ssize_t>(out_.n));
        }
        // the samples of a column are its own
        auto* samples = const_cast<dl_sample*>(out_.samples);
        for (std::int64_t i = 0; i < out_.n; i++) {
            if (at(i)) samples[i].form = DL_FORM_HOLE;
        }
    }

    py::object keep(py::object o) {
        all_.kept_.push_back(o);
        return o;
    }

    // Returns the items of a list, or of another iterable but text and mappings, as a tuple. Python
    // code that a conversion runs, such as __array__, may change the list; `unchanged` then fails.
    py::object items_of(const py::object& value, const char* what) {
        if (is_text(value) || PyDict_Check(value.ptr()) || is_plain_number(value) ||
            value.is_none()) {
            fail(DL_TYPE, std::string(what) + " is a " + type_name(value) +
                              ", want an array, or a list with one sample for each");
        }
        py::object list = value;
        if (py::isinstance<py::array>(value)) {
            py::array a = py::reinterpret_borrow<py::array>(value);
            if (a.ndim() == 0)
                fail(DL_TYPE, std::string(what) + " is an array without axes, want one axis more");
            const char kind = a.dtype().kind();
            if (kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T')
                list = value.attr("tolist")();
        }
        PyObject* items = PySequence_Tuple(list.ptr());
        if (items == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
            PyErr_Clear();
            fail(DL_TYPE, std::string(what) + " is a " + type_name(value) +
                              ", want an array, or a list with one sample for each");
        }
        return keep(py::reinterpret_steal<py::object>(items));
    }

    // Fails if a list no longer has the n items that were converted.
    void unchanged(const py::object& value, Py_ssize_t n, const char* what) const {
        if (!PyList_Check(value.ptr())) return;
        const Py_ssize_t now = PyList_GET_SIZE(value.ptr());
        if (now == n) return;
        fail(DL_INVALID, std::string(what) + " changed from " + std::to_string(n) + " to " +
                             std::to_string(now) +
                             " items while they were converted; pass a list that nothing changes "
                             "during the call");
    }

    // Takes all rows in one array.
    void take_array(const py::object& value) {
        dl_sample s{};
        if (is_object_array(value)) return take_samples(value);
        if (is_time(value)) throw CountsTime();
        describe(value, &s);
        if (s.ndim < 1)
            fail(DL_TYPE, "the column is an array without axes, want rows along the first axis");
        out_.n = s.shape[0];
        out_.data = s.data;
        out_.bytes = s.bytes;
        out_.shape = s.shape + 1;
        out_.ndim = s.ndim - 1;
        out_.dtype = s.dtype;
        out_.samples = nullptr;
    }

    static bool is_object_array(const py::object& value) {
        if (!py::isinstance<py::array>(value)) return false;
        const char kind = py::reinterpret_borrow<py::array>(value).dtype().kind();
        return kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T';
    }

    // Takes one value for each row.
    void take_samples(const py::object& value) {
        py::object list = items_of(value, "the column");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        PyObject** rows = PySequence_Fast_ITEMS(list.ptr());
        if (n > 0 && all_numbers(rows, n) && take_numbers(list)) return;
        std::vector<dl_sample>& samples = all_.samples_.emplace_back(static_cast<size_t>(n));
        for (row_ = 0; row_ < n; row_++) {
            describe_any(py::reinterpret_borrow<py::object>(rows[row_]),
                         &samples[static_cast<size_t>(row_)]);
        }
        row_ = -1;
        unchanged(value, n, "the column");
        finish(samples, n);
    }

    // Takes a tuple of plain numbers in one piece. Returns false where the tensor cannot take all
    // of them: one by one, the core can name the row.
    bool take_numbers(const py::object& list) {
        dl_sample s{};
        describe_literal(list, &s);
        if (!type_.empty() && width_of(type_) < width_of(dtype_name(s.dtype))) return false;
        out_.n = s.shape[0];
        out_.data = s.data;
        out_.bytes = s.bytes;
        out_.dtype = s.dtype;
        out_.flags = s.flags;
        return true;
    }

    // Returns the place of a dtype in an order where each kind holds numbers of those before it.
    static int width_of(const std::string& dtype) {
        if (dtype == "bool" || dtype.find("int") != std::string::npos) return 1;
        if (dtype.find("float") != std::string::npos) return 2;
        return dtype.rfind("complex", 0) == 0 ? 3 : 0;
    }

    // Takes a list of samples for each row.
    void take_sequences(const py::object& value) {
        py::object list = items_of(value, "the column");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        std::vector<dl_sample>& samples = all_.samples_.emplace_back();
        std::vector<std::int64_t>& items = all_.items_.emplace_back();
        for (row_ = 0; row_ < n; row_++) {
            py::object row =
                py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list.ptr(), row_));
            const size_t before = samples.size();
            take_items(row, samples);
            items.push_back(static_cast<std::int64_t>(samples.size() - before));
        }
        row_ = -1;
        unchanged(value, n, "the column");
        finish(samples, n);
        out_.row_items = items.data();
    }

    void take_items(const py::object& row, std::vector<dl_sample>& samples) {
        if (row.is_none()) {
            dl_sample hole{};
            hole.form = DL_FORM_HOLE;
            samples.push_back(hole);
            return;
        }
        if (py::hasattr(row, "getpalette"))
            fail(DL_TYPE, "is one picture, want a list of pictures: [picture]");
        if (type_ != "json" && is_array(row) && !is_object_array(row)) {
            dl_sample all{};
            describe(row, &all);
            if (all.ndim < 1)
                fail(DL_TYPE, "is an array without axes, want items along the first axis");
            const std::int64_t n = all.shape[0], size = n > 0 ? all.bytes / n : 0;
            for (std::int64_t i = 0; i < n; i++) {
                dl_sample item = all;
                item.data = static_cast<const char*>(all.data) + i * size;
                item.bytes = size;
                item.shape++;
                item.ndim--;
                samples.push_back(item);
            }
            return;
        }
        py::object list = items_of(row, "the row");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        for (Py_ssize_t i = 0; i < n; i++) {
            dl_sample item{};
            py::object one =
                py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list.ptr(), i));
            if (one.is_none()) fail(DL_TYPE, "has None in its list, want it left out");
            describe_any(one, &item);
            samples.push_back(item);
        }
        unchanged(row, n, "the row");
    }

    void finish(const std::vector<dl_sample>& samples, Py_ssize_t n) {
        static const dl_sample none{};  // an empty column is a list too
        out_.n = n;
        out_.samples = samples.empty() ? &none : samples.data();
        out_.samples_n = static_cast<std::int64_t>(samples.size());
    }

    static bool all_numbers(PyObject** rows, Py_ssize_t n) {
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!is_plain_number(rows[i])) return false;
        }
        return true;
    }

    // Describes one sample of any kind.
    void describe_any(const py::object& value, dl_sample* out) {
        if (value.is_none()) {
            out->form = DL_FORM_HOLE;
        } else if (type_ == "json") {
            describe_text(json_of(value), DL_JSON, out);
        } else if (PyUnicode_Check(value.ptr())) {
            describe_string(value, out);
        } else if (is_bytes(value)) {
            describe_text(value, DL_BYTES, out);
        } else if (is_plain_number(value) || is_list(value)) {
            describe_literal(value, out);
        } else if (is_time(value)) {
            throw CountsTime();
        } else if (py::isinstance<py::array>(value)) {
            describe(value, out);
        } else if (py::hasattr(value, "__deeplake_encoded__")) {
            describe_text(value.attr("__deeplake_encoded__"), DL_BYTES, out);
            out->form = DL_FORM_ENCODED;
        } else if (py::hasattr(value, "__deeplake_link__")) {
            describe_text(value.attr("__deeplake_link__"), DL_BYTES, out);
            out->form = DL_FORM_LINK;
        } else if (py::hasattr(value, "getpalette")) {
            describe(keep(python("deeplake._samples.pictures", "pixels", value, py::str(type_))),
                     out);
        } else if (is_array(value)) {
            describe(value, out);
        } else if (type_name(value) == "NAType") {  // pandas.NA
            out->form = DL_FORM_HOLE;
        } else if (py::hasattr(value, "__fspath__")) {
            fail(DL_TYPE,
                 "is a path; deeplake.read(path) gives the picture in the file, path.read_text() "
                 "its "
                 "text, str(path) the path itself");
        } else {
            fail(DL_TYPE, "is a " + type_name(value) +
                              ", want an array, a number, a list of numbers, str, bytes or None; "
                              "float() and str() convert decimals and fractions");
        }
    }

    py::bytes json_of(const py::object& value) const {
        try {
            return py::bytes(to_json(value));
        } catch (const Failure& e) {
            fail(e.status(), std::string("cannot be stored: ") + e.what());
        }
    }

    void describe_string(const py::object& value, dl_sample* out) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);  // lives as long as the str
        if (text == nullptr) {
            PyErr_Clear();
            fail(DL_INVALID, "is a str with a lone surrogate, which is no UTF-8");
        }
        keep(value);
        out->form = DL_FORM_TEXT;
        out->dtype = DL_STRING;
        set_data(out, text, size);
    }

    void describe_text(const py::object& value, std::int32_t dtype, dl_sample* out) {
        out->form = DL_FORM_TEXT;
        out->dtype = dtype;
        if (PyBytes_Check(value.ptr())) {
            keep(value);
            set_data(out, PyBytes_AS_STRING(value.ptr()), PyBytes_GET_SIZE(value.ptr()));
            return;
        }
        // The view keeps a bytearray from being resized while the core reads it.
        py::object view = py::reinterpret_steal<py::object>(
            PyMemoryView_GetContiguous(value.ptr(), PyBUF_READ, 'C'));
        if (!view) throw py::error_already_set();
        const Py_buffer* buffer = PyMemoryView_GET_BUFFER(view.ptr());
        set_data(out, buffer->buf, buffer->len);
        keep(view);
    }

    void set_data(dl_sample* out, const void* data, std::int64_t bytes) {
        out->data = data;
        out->bytes = bytes;
        all_.bytes_ += bytes;
    }

    // Describes an array of any library.
    void describe(const py::object& value, dl_sample* out) {
        Memory m;
        try {
            m = memory_of(value);
        } catch (const Refused& e) {
            fail(e);
        }
        for (py::object& o : m.kept) keep(std::move(o));
        set_array(out, m.data, m.bytes, m.dtype, std::move(m.shape));
    }

    void set_array(dl_sample* out, const void* data, std::int64_t bytes, std::int32_t dtype,
                   std::vector<std::int64_t> axes) {
        const auto& shape = all_.shapes_.emplace_back(std::move(axes));
        out->form = DL_FORM_ARRAY;
        out->dtype = dtype;
        out->ndim = static_cast<std::int32_t>(shape.size());
        out->shape = shape.data();
        set_data(out, data, bytes);
    }

    // Describes a number, or a list of numbers.
    void describe_literal(const py::object& value, dl_sample* out) {
        Literal l;
        const Literal::Outcome found = l.read(value);
        if (found == Literal::mistaken) {
            if (row_ < 0) row_ = static_cast<Py_ssize_t>(l.at);
            fail(DL_INVALID, l.mistake);
        }
        if (found == Literal::others) return describe_list(value, l.other, out);
        const auto& data = all_.literals_.emplace_back(std::move(l.data));
        set_array(out, data.data(), l.bytes, l.dtype, std::move(l.shape));
        out->flags = DL_LITERAL;
    }

    // Describes a list with an item that is no plain number.
    void describe_list(const py::object& value, const py::object& item, dl_sample* out) {
        if (is_time(item)) throw CountsTime();
        if (item.is_none())
            fail(DL_INVALID,
                 "has None in its list, and no dtype of numbers has a missing value; use NaN "
                 "among floats, or htype json");
        if (is_text(item))
            fail(DL_TYPE,
                 "is a list with a " + type_name(item) +
                     " in it, want numbers; a list of texts suits htype class_label or tag");
        if (!is_array(item))
            fail(DL_TYPE, "is a list with a " + type_name(item) +
                              " in it, want numbers; float() and str() convert decimals and "
                              "fractions");
        py::object array;
        try {
            array = stacked(value);
        } catch (const Refused& e) {
            fail(e);
        }
        if (is_time(array)) throw CountsTime();
        describe(array, out);
    }

    Columns& all_;
    const char* op_;
    const std::string& name_;
    std::string type_;
    bool sequence_ = false;
    Py_ssize_t row_ = -1;  // for messages
    dl_rows out_{};
};

Columns::Columns(const char* op, const py::object& columns, const py::object& types, bool arrow)
    : arrow_(arrow) {
    py::object type_of = types.is_none() ? py::object(py::dict()) : types;
    const py::dict own =
        // a conversion may run Python code that changes the caller's
        py::dict(columns).attr("copy")();
    for (const auto& [key, value] : own) {
        if (!PyUnicode_Check(key.ptr())) {
            throw Failure(DL_INVALID, std::string(op) + ": a tensor's name is a " + type_name(key) +
                                          ", want str");
        }
        const std::string& name = names_.emplace_back(text_of(key));
        py::object type = type_of.attr("get")(key, "");
        rows_.push_back(Column(*this, op, name, py::cast<std::string>(type))
                            .take(py::reinterpret_borrow<py::object>(value)));
        if (rows_.back().n != rows_.front().n) {
            throw Failure(DL_INVALID, std::string(op) + ": tensor \"" + name + "\" has " +
                                          std::to_string(rows_.back().n) + " rows, but tensor \"" +
                                          names_.front() + "\" has " +
                                          std::to_string(rows_.front().n));
        }
    }
}

}  // namespace deeplake
