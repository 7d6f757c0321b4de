package tensor

import (
	"math"
	"regexp"
	"strings"
	"time"

	"deeplake/core/errs"
)

// Time is the meaning of int64 numbers that count time. The zero value is that of plain numbers.
type Time struct {
	Kind TimeKind
	Unit TimeUnit // a date counts days
	// of a timestamp: the name of the zone that its values are shown in, which count from the epoch
	// in UTC; "": clock time of no stated zone
	Zone string
	// a timestamp of NumPy, which has no zones: any timestamp takes it
	Zoneless bool
}

// TimeKind is a point in time, a day, or a length of time.
type TimeKind uint8

// The kinds of times.
const (
	NoTime    TimeKind = 0
	Date      TimeKind = 1 // days since 1970-01-01
	Timestamp TimeKind = 2 // units since 1970-01-01 00:00
	Interval  TimeKind = 3 // units
)

// TimeUnit is the length of one count.
type TimeUnit uint8

// The units of times.
const (
	Second      TimeUnit = 0
	Millisecond TimeUnit = 1
	Microsecond TimeUnit = 2
	Nanosecond  TimeUnit = 3
)

// NotATime is the number that stands for no time, as in NumPy.
const NotATime = math.MinInt64

var (
	timeKinds = [...]string{NoTime: "", Date: "date", Timestamp: "timestamp", Interval: "interval"}
	timeUnits = [...]string{Second: "s", Millisecond: "ms", Microsecond: "us", Nanosecond: "ns"}
	perSecond = [...]int64{Second: 1, Millisecond: 1e3, Microsecond: 1e6, Nanosecond: 1e9}
	timeNames = regexp.MustCompile(`^(date|timestamp|interval|datetime64|timedelta64)(?:\[\s*([a-zA-Z]+)\s*(?:,\s*(?:tz=)?([^\s\[\]]{1,64})\s*)?\])?$`)
	offsets   = regexp.MustCompile(`^[+-]\d\d:\d\d$`)
)

const wantTime = `"date", "timestamp[us]", "timestamp[us, Europe/Berlin]", "interval[us]" with a unit of s, ms, us or ns, or the NumPy names "datetime64[us]" and "timedelta64[us]"`

// IsTime reports whether name looks like that of a time, so that ParseTime has the better error.
func IsTime(name string) bool {
	for _, k := range []string{"date", "timestamp", "interval", "timedelta"} {
		if strings.HasPrefix(name, k) {
			return true
		}
	}
	return false
}

// ParseTime reads the name of a time, as String writes it or as NumPy does. Without a unit it
// counts microseconds.
func ParseTime(name string) (Time, error) {
	m := timeNames.FindStringSubmatch(name)
	if m == nil {
		return Time{}, errs.New(errs.Type, "unknown time %q (want %s)", name, wantTime)
	}
	t := Time{Unit: Microsecond, Zone: m[3]}
	switch kind, unit := m[1], m[2]; {
	case kind == "date" && unit == "", kind == "datetime64" && unit == "D":
		t.Kind, t.Unit = Date, Second
	case kind == "date":
		return Time{}, errs.New(errs.Type, "time %q has the unit %q, a date counts days", name, unit)
	case kind == "timestamp" || kind == "datetime64":
		t.Kind, t.Zoneless = Timestamp, kind == "datetime64"
	default:
		t.Kind = Interval
	}
	if t.Zone != "" && t.Kind != Timestamp {
		return Time{}, errs.New(errs.Type, "time %q has the zone %q, which only a timestamp has", name, t.Zone)
	}
	if err := checkZone(t.Zone); err != nil {
		return Time{}, err
	}
	if t.Kind == Date || m[2] == "" {
		return t, nil
	}
	for u, text := range timeUnits {
		if text == m[2] {
			t.Unit = TimeUnit(u)
			return t, nil
		}
	}
	return Time{}, errs.New(errs.Type, "time %q has the unit %q, want s, ms, us or ns", name, m[2])
}

// checkZone refuses text that is no name of a zone. It does not ask whether this machine knows it.
func checkZone(zone string) error {
	if zone == "" || offsets.MatchString(zone) {
		return nil
	}
	for _, r := range zone {
		if r != '/' && r != '_' && r != '-' && r != '+' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return errs.New(errs.Type, "%q is no time zone, want a name like \"Europe/Berlin\" or an offset like \"+02:00\"", zone)
		}
	}
	return nil
}

// String returns the name that ParseTime reads, "" for plain numbers.
func (t Time) String() string {
	switch {
	case t.Kind == NoTime || t.Kind == Date:
		return timeKinds[t.Kind]
	case t.Zone != "":
		return timeKinds[t.Kind] + "[" + timeUnits[t.Unit] + ", " + t.Zone + "]"
	}
	return timeKinds[t.Kind] + "[" + timeUnits[t.Unit] + "]"
}

// Location returns the zone of a timestamp, UTC where this machine does not know it.
func (t Time) Location() *time.Location {
	if offsets.MatchString(t.Zone) {
		at, err := time.Parse("-07:00", t.Zone)
		if err == nil {
			return at.Location()
		}
	}
	if l, err := time.LoadLocation(t.Zone); err == nil && t.Zone != "Local" {
		return l
	}
	return time.UTC
}

// CheckTakes refuses times of another kind. Timestamps of all zones count from the same epoch, so
// that any zone takes any other one. Clock time of no zone and timestamps of a zone exclude each
// other.
func (t Time) CheckTakes(from Time) error {
	switch {
	case t.Kind == NoTime:
		return errs.New(errs.Type, "sample is %s, want plain numbers; create the tensor with dtype=%q", from, from.String())
	case from.Kind == NoTime:
		return nil
	case t.Kind != from.Kind && (t.Kind == Interval || from.Kind == Interval):
		return errs.New(errs.Type, "sample is %s, want %s", from, t)
	case t.Kind == Timestamp && t.Zone == "" && from.Zone != "":
		return errs.New(errs.Type, "sample is %s, want a timestamp without a zone; drop its zone, or create the tensor with dtype=%q", from, from.String())
	case t.Kind == Timestamp && t.Zone != "" && from.Zone == "" && !from.Zoneless:
		return errs.New(errs.Type, "sample is %s without a zone, want %s; give it a zone", from, t)
	}
	return nil
}

// ConvertTimes returns counts of from as counts of t, which takes them. It returns data itself if
// both count the same. bad is the index of the first time that t does not hold exactly, else -1.
// Plain numbers are counts of t already.
func ConvertTimes(t, from Time, data []byte) (out []byte, bad int) {
	if from.Kind == NoTime || t.Unit == from.Unit && t.Kind == from.Kind {
		return data, -1
	}
	times, per := from.over(t)
	out = make([]byte, len(data)/8*8)
	dst := view[int64](out)
	for i, v := range view[int64](data) {
		switch p := v * times; {
		case v == NotATime:
			dst[i] = v
		case p/times != v || p == NotATime || p%per != 0:
			return nil, i
		default:
			dst[i] = p / per
		}
	}
	return out, -1
}

// over returns the length of a count of t in counts of u, as a fraction.
func (t Time) over(u Time) (times, per int64) {
	a, b := t.nanoseconds(), u.nanoseconds()
	if a >= b {
		return a / b, 1
	}
	return 1, b / a
}

func (t Time) nanoseconds() int64 {
	if t.Kind == Date {
		return 86_400 * 1e9
	}
	return 1e9 / perSecond[t.Unit]
}
