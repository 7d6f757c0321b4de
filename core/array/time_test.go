package array

import (
	"regexp"
	"testing"
	"time"

	"deeplake/core/errs"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		text string
		want string // as it is written again; "" for an error
	}{
		{Date, "2024-02-29", "2024-02-29"}, {Date, " 2024-2-9 ", "2024-02-09"}, {Date, "2023-02-29", ""}, {Date, "2024-13-01", ""}, {Date, "2024-01-31 10:00", "2024-01-31"},
		{Date, "2024-01-31x", ""}, {Date, "", ""}, {Date, "-0044-03-15", "-0044-03-15"}, {Date, "1969-12-31", "1969-12-31"},
		{Timestamp, "2024-01-31", "2024-01-31 00:00:00"}, {Timestamp, "2024-01-31T12:30:15.25Z", "2024-01-31 12:30:15.25"}, {Timestamp, "2024-01-31 12:30", "2024-01-31 12:30:00"},
		{Timestamp, "2024-01-31 12:30:00+02:00", "2024-01-31 10:30:00"}, {Timestamp, "2024-01-31 12:30:00 -0130", "2024-01-31 14:00:00"}, {Timestamp, "2024-01-31 24:00", ""}, {Timestamp, "2024-01-31 12:60", ""},
		{Timestamp, "2024-01-31 12:30:00.1234567", "2024-01-31 12:30:00.123456"}, {Timestamp, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"},
		{Timestamp, "2024-01-31 12:30:00.", ""}, {Timestamp, "2024-01-31 12:30:00+", ""}, {Timestamp, "999999-01-01", ""},
		{Interval, "1 day 2 hours", "1 day 02:00:00"}, {Interval, "1 day 02:00:00.5", "1 day 02:00:00.5"}, {Interval, "-3 minutes", "-00:03:00"}, {Interval, "1.5h", "01:30:00"}, {Interval, "2 weeks", "14 days"},
		{Interval, "1 month", ""}, {Interval, "1", ""}, {Interval, "", ""}, {Interval, "1e300 days", ""}, {Interval, "-1 day -02:00", "-1 day -02:00:00"}, {Interval, "5 us", "00:00:00.000005"}, {Interval, "300 ms", "00:00:00.3"},
	} {
		v, err := ParseTime(c.unit, c.text)
		switch {
		case err != nil && c.want != "":
			t.Errorf("%s %q: %v", c.unit, c.text, err)
		case err == nil && FormatTime(c.unit, v) != c.want:
			t.Errorf("%s %q: got %s, want %q", c.unit, c.text, FormatTime(c.unit, v), c.want)
		}
	}
}

var stamps = regexp.MustCompile(`^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`)

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2024-01-31", "2024-01-31 12:30:00.5+01:00", "1 day 2 hours", "-1 day -02:00:00", "1.5e3 ms", "9999999 weeks"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, u := range []Unit{Date, Timestamp, Interval} {
			v, err := ParseTime(u, s)
			if err != nil {
				if !errs.Is(err, errs.Invalid) {
					t.Errorf("%s %q: %v", u, s, err)
				}
				continue
			}
			again, err := ParseTime(u, FormatTime(u, v))
			if err != nil || again != v {
				t.Errorf("%s %q is %d, written %q, read %d %v", u, s, v, FormatTime(u, v), again, err)
			}
		}
		if stamps.MatchString(s) {
			want, bad := time.Parse("2006-01-02 15:04:05.999999", s)
			got, err := ParseTime(Timestamp, s)
			if (bad == nil) != (err == nil) || bad == nil && want.UnixMicro() != got {
				t.Errorf("%q: %d %v, want %v %v", s, got, err, want, bad)
			}
		}
	})
}
