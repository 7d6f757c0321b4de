package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
)

// ParseTime reads the text of DATE, TIMESTAMP and INTERVAL literals: '2024-01-31', '2024-01-31
// 12:30:00.5' (also with T between, and with Z or +01:00 at the end), '1 day 2 hours' or '1 day
// 02:00:00'.
func ParseTime(unit Unit, text string) (int64, error) {
	if len(text) > 200 {
		return 0, errs.New(errs.Invalid, "%s of %d characters: too long", unit, len(text))
	}
	var v int64
	ok := false
	want := "'2024-01-31'"
	s := strings.TrimSpace(text)
	switch unit {
	case Date:
		day1, rest, good := parseDate(s)
		if good && rest != "" { // a timestamp is a date as well
			_, good = parseStamp(s)
		}
		v, ok = day1, good
	case Timestamp:
		want = "'2024-01-31 12:30:00'"
		v, ok = parseStamp(s)
	case Interval:
		want = "'1 day 2 hours'; months and years have no fixed length"
		v, ok = parseInterval(s)
	}
	if !ok {
		return 0, errs.New(errs.Invalid, "%s %q: want one like %s", unit, text, want)
	}
	return v, nil
}

// digits reads a number of at most n digits.
func digits(s string, n int) (v int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < n && s[i] >= '0' && s[i] <= '9' {
		v = v*10 + int(s[i]-'0')
		i++
	}
	return v, s[i:], i > 0
}

func parseDate(s string) (days int64, rest string, ok bool) {
	neg := strings.HasPrefix(s, "-")
	y, rest, ok := digits(strings.TrimPrefix(s, "-"), 6)
	if !ok || len(rest) == 0 || rest[0] != '-' {
		return 0, "", false
	}
	m, rest, ok := digits(rest[1:], 2)
	if !ok || len(rest) == 0 || rest[0] != '-' {
		return 0, "", false
	}
	d, rest, ok := digits(rest[1:], 2)
	if !ok || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, "", false
	}
	if neg {
		y = -y
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Day() != d {
		return 0, "", false
	}
	return FloorDiv(t.Unix(), 86400), rest, true
}

func parseStamp(s string) (int64, bool) {
	days, rest, ok := parseDate(s)
	if !ok {
		return 0, false
	}
	v := days * MicrosPerDay
	if days > math.MaxInt64/MicrosPerDay-1 || days < math.MinInt64/MicrosPerDay+1 {
		return 0, false
	}
	if rest == "" {
		return v, true
	}
	if rest[0] != ' ' && rest[0] != 'T' && rest[0] != 't' {
		return 0, false
	}
	clock, rest, ok := parseClock(strings.TrimLeft(rest[1:], " "), 23)
	if !ok {
		return 0, false
	}
	zone, ok := parseZone(strings.TrimSpace(rest))
	return v + clock - zone, ok
}

// parseClock reads 12:30, 12:30:15 and 12:30:15.25.
func parseClock(s string, hours int) (int64, string, bool) {
	h, rest, ok := digits(s, 6)
	if !ok || h > hours || len(rest) == 0 || rest[0] != ':' {
		return 0, "", false
	}
	m, rest, ok := digits(rest[1:], 2)
	if !ok || m > 59 {
		return 0, "", false
	}
	v := (int64(h)*60 + int64(m)) * 60 * 1000000
	if len(rest) == 0 || rest[0] != ':' {
		return v, rest, true
	}
	sec, rest, ok := digits(rest[1:], 2)
	if !ok || sec > 59 {
		return 0, "", false
	}
	v += int64(sec) * 1000000
	if len(rest) > 0 && rest[0] == '.' {
		rest = rest[1:]
		unit := int64(100000)
		i := 0
		for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
			v += unit * int64(rest[i]-'0')
			unit /= 10
		}
		if i == 0 {
			return 0, "", false
		}
		rest = rest[i:]
	}
	return v, rest, true
}

func parseZone(s string) (int64, bool) {
	switch {
	case s == "", s == "Z", s == "z", strings.EqualFold(s, "UTC"):
		return 0, true
	case s[0] != '+' && s[0] != '-':
		return 0, false
	}
	h, rest, ok := digits(s[1:], 2)
	if !ok || h > 23 {
		return 0, false
	}
	m := 0
	rest = strings.TrimPrefix(rest, ":")
	if rest != "" {
		if m, rest, ok = digits(rest, 2); !ok || rest != "" || m > 59 {
			return 0, false
		}
	}
	v := (int64(h)*60 + int64(m)) * 60 * 1000000
	if s[0] == '-' {
		v = -v
	}
	return v, true
}

var periods = map[string]float64{"week": 7 * MicrosPerDay, "day": MicrosPerDay, "d": MicrosPerDay, "hour": MicrosPerDay / 24, "h": MicrosPerDay / 24, "hr": MicrosPerDay / 24, "minute": 60e6, "min": 60e6, "m": 60e6,
	"second": 1e6, "sec": 1e6, "s": 1e6, "millisecond": 1e3, "ms": 1e3, "microsecond": 1, "us": 1}

func parseInterval(s string) (int64, bool) {
	sum := int64(0)
	parts := strings.Fields(s)
	if len(parts) == 0 {
		return 0, false
	}
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if strings.Contains(p, ":") {
			neg := strings.HasPrefix(p, "-")
			v, rest, ok := parseClock(strings.TrimLeft(p, "+-"), 999999)
			if !ok || rest != "" {
				return 0, false
			}
			if neg {
				v = -v
			}
			sum += v
			continue
		}
		cut := len(p)
		for j, c := range p {
			if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
				cut = j
				break
			}
		}
		word := p[cut:]
		if word == "" && i+1 < len(parts) {
			i++
			word = parts[i]
		}
		word = strings.ToLower(strings.TrimSuffix(word, ","))
		unit, known := periods[word]
		if !known {
			unit, known = periods[strings.TrimSuffix(word, "s")]
		}
		n, err := strconv.ParseFloat(p[:cut], 64)
		v := n * unit
		if !known || err != nil || !(math.Abs(v) < 4e18) {
			return 0, false
		}
		if whole, err := strconv.ParseInt(p[:cut], 10, 64); err == nil {
			sum += whole * int64(unit)
		} else {
			sum += int64(math.Round(v))
		}
		if sum > 4e18 || sum < -4e18 {
			return 0, false
		}
	}
	return sum, true
}

// Civil returns the calendar of microseconds since 1970.
func Civil(v int64) time.Time { return time.UnixMicro(v).UTC() }

// FormatTime writes a date, a timestamp or an interval so that ParseTime reads it.
func FormatTime(unit Unit, v int64) string {
	switch unit {
	case Date:
		if v > 1e9 || v < -1e9 {
			return strconv.FormatInt(v, 10) + " days"
		}
		t := time.Unix(v*86400, 0).UTC()
		return formatDay(t)
	case Timestamp:
		t := Civil(v)
		return formatDay(t) + " " + formatClock(t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/1000)
	}
	sign := ""
	u := Magnitude(v)
	if v < 0 {
		sign = "-"
	}
	days, rest := u/MicrosPerDay, int64(u%MicrosPerDay)
	clock := formatClock(int(rest/3600000000), int(rest/60000000%60), int(rest/1000000%60), int(rest%1000000))
	switch {
	case days == 0:
		return sign + clock
	case days == 1:
		sign, clock = sign+"1 day", sign+clock
	default:
		sign, clock = sign+strconv.FormatUint(days, 10)+" days", sign+clock
	}
	if rest == 0 {
		return sign
	}
	return sign + " " + clock
}

func formatDay(t time.Time) string {
	y := t.Year()
	if y < 0 {
		return fmt.Sprintf("-%04d-%02d-%02d", -y, t.Month(), t.Day())
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, t.Month(), t.Day())
}

func formatClock(h, m, s, micro int) string {
	out := fmt.Sprintf("%02d:%02d:%02d", h, m, s)
	if micro != 0 {
		out += strings.TrimRight(fmt.Sprintf(".%06d", micro), "0")
	}
	return out
}

// MicrosPerDay is the length of a day in microseconds.
const MicrosPerDay = 24 * 3600 * 1000000

// ToMicros makes microseconds of dates.
func ToMicros(w *Work, c *Column) (*Column, error) {
	if c.Unit != Date {
		return c, nil
	}
	t := c.Type
	t.Unit = Timestamp
	beyond := func(v int64) bool { return v > math.MaxInt64/MicrosPerDay || v < math.MinInt64/MicrosPerDay }
	over := false
	out := Map(w, t, c, Lanes[int64](c.Data), func(dst, a []int64) {
		for i, v := range a {
			over = over || beyond(v)
			dst[i] = v * MicrosPerDay
		}
	})
	if !over {
		return out, nil
	}
	days := As[int64](c.Data)
	for i := range c.Stored() {
		for lo, hi := c.Span(i); lo < hi && !c.IsNull(i); lo++ {
			if beyond(days[lo]) {
				return nil, InRow(errs.Range, i, "%s of row %d does not fit a timestamp, whose years go from -290307 to 294247", FormatTime(Date, days[lo]), Here)
			}
		}
	}
	return out, nil
}

// Magnitude returns the absolute value, which always fits uint64.
func Magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
