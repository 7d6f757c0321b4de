package tensor

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"date": "date", "datetime64[D]": "date", "timestamp": "timestamp[us]", "timestamp[ns]": "timestamp[ns]", "datetime64": "timestamp[us]",
		"datetime64[ms]": "timestamp[ms]", "timestamp[us, Europe/Berlin]": "timestamp[us, Europe/Berlin]", "timestamp[s,tz=UTC]": "timestamp[s, UTC]",
		"timestamp[us, +02:00]": "timestamp[us, +02:00]", "interval": "interval[us]", "interval[s]": "interval[s]", "timedelta64[ns]": "interval[ns]",
	} {
		got, err := ParseTime(name)
		if err != nil || got.String() != want {
			t.Errorf("%q is %q, %v, want %q", name, got, err, want)
		}
		if again, err := ParseTime(got.String()); err != nil || again.String() != want || !IsTime(name) {
			t.Errorf("%q is read back as %q, %v", got, again, err)
		}
	}
	for name, want := range map[string]string{
		"": "unknown time", "times": "unknown time", "timestamp[h]": "want s, ms, us or ns", "date[s]": "a date counts days", "datetime64[M]": "want s, ms, us or ns",
		"interval[us, UTC]": "only a timestamp has", "timestamp[us, Euro pe]": "unknown time", "timestamp[us, ../../etc]": "is no time zone", "timestamp[us": "unknown time",
	} {
		if got, err := ParseTime(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %q, %v, want an error that says %q", name, got, err, want)
		}
	}
}

func TestConvertTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to, from string
		in, want int64
		bad      bool
	}{
		{"timestamp[us]", "timestamp[s]", 5, 5e6, false},
		{"timestamp[s]", "timestamp[us]", 5e6, 5, false},
		{"timestamp[s]", "timestamp[us]", 5e6 + 1, 0, true},
		{"timestamp[s]", "timestamp[us]", -5e6, -5, false},
		{"timestamp[ns]", "timestamp[s]", math.MaxInt64 / 1000, 0, true},
		{"timestamp[ns]", "timestamp[us]", math.MinInt64/1000 - 1, 0, true},
		{"timestamp[us]", "date", -1, -86_400e6, false},
		{"date", "timestamp[us]", -86_400e6, -1, false},
		{"date", "timestamp[us]", 3600e6, 0, true},
		{"interval[ms]", "interval[ns]", 7e6, 7, false},
		{"timestamp[ns]", "timestamp[s]", NotATime, NotATime, false},
		{"timestamp[us]", "timestamp[us]", 3, 3, false},
	} {
		to, err := ParseTime(c.to)
		from, err2 := ParseTime(c.from)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		out, bad := ConvertTimes(to, from, binary.LittleEndian.AppendUint64(nil, uint64(c.in)))
		if bad >= 0 != c.bad || !c.bad && int64(binary.LittleEndian.Uint64(out)) != c.want {
			t.Errorf("%d of %s in %s: % x, bad %d, want %d, %v", c.in, c.from, c.to, out, bad, c.want, c.bad)
		}
	}
}

func TestTimesThatTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ to, from, want string }{
		{"timestamp", "timestamp[ns]", ""}, {"timestamp[us, UTC]", "timestamp[s, +02:00]", ""}, {"timestamp[us, UTC]", "datetime64[ns]", ""},
		{"date", "timestamp", ""}, {"timestamp", "date", ""}, {"timestamp", "timestamp[us, UTC]", "without a zone"},
		{"timestamp[us, UTC]", "timestamp", "give it a zone"}, {"interval", "timestamp", "want interval[us]"}, {"date", "interval", "want date"},
	} {
		to, err := ParseTime(c.to)
		from, err2 := ParseTime(c.from)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		err = to.CheckTakes(from)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s takes %s: %v, want %q", to, from, err, c.want)
		}
	}
	if err := (Time{}).CheckTakes(Time{Kind: Date}); err == nil || !strings.Contains(err.Error(), `dtype="date"`) {
		t.Errorf("plain numbers take a date: %v", err)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"timestamp[us, +02:30]": 9000, "timestamp[us, -01:00]": -3600, "timestamp[us, UTC]": 0, "timestamp[us, No/Where]": 0, "timestamp[us, Local]": 0} {
		at, err := ParseTime(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, off := time.Unix(0, 0).In(at.Location()).Zone(); off != want {
			t.Errorf("%s is %d s east, want %d", name, off, want)
		}
	}
}
