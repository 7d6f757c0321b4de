package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// ParseTime reads what stands behind DATE, TIMESTAMP and INTERVAL: '2024-01-31', '2024-01-31
// 12:30:00.5' (with T between, and Z or +01:00 at the end, too), '1 day 2 hours' or '1 day
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
	return floorDiv(t.Unix(), 86400), rest, true
}

func parseStamp(s string) (int64, bool) {
	days, rest, ok := parseDate(s)
	if !ok {
		return 0, false
	}
	v := days * day
	if days > math.MaxInt64/day-1 || days < math.MinInt64/day+1 {
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

var periods = map[string]float64{"week": 7 * day, "day": day, "d": day, "hour": day / 24, "h": day / 24, "hr": day / 24, "minute": 60e6, "min": 60e6, "m": 60e6,
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

// civil is the calendar of microseconds since 1970.
func civil(v int64) time.Time { return time.UnixMicro(v).UTC() }

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
		t := civil(v)
		return formatDay(t) + " " + formatClock(t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/1000)
	}
	sign := ""
	u := magnitude(v)
	if v < 0 {
		sign = "-"
	}
	days, rest := u/day, int64(u%day)
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

var fields = []string{"year", "month", "day", "hour", "minute", "second", "epoch", "dow", "isodow", "doy", "week", "quarter",
	"millisecond", "microsecond"}

// ExtractType is the type of EXTRACT(field FROM x).
func ExtractType(field string, x Type) (Type, error) {
	field = strings.TrimSuffix(strings.ToLower(field), "s")
	known := false
	for _, f := range fields {
		known = known || f == field
	}
	if !known {
		return Type{}, errs.New(errs.NotFound, "EXTRACT: there is no field %q (want one of %s)%s", field, strings.Join(fields, ", "), errs.Suggest(field, fields))
	}
	if x.DType != 0 && x.Unit == None {
		return Type{}, errs.New(errs.Type, "EXTRACT from %s: want a date, a timestamp or an interval", x)
	}
	if field == "epoch" {
		return x.to(tensor.Float64), nil
	}
	return x.to(tensor.Int64), nil
}

// Extract is EXTRACT(field FROM x). Weeks are those of ISO 8601; millisecond and microsecond count
// from the minute's begin, as in SQL.
func Extract(field string, x *Column) (*Column, error) {
	t, err := ExtractType(field, x.Type)
	if err != nil || x.DType == 0 {
		return Nothing(t, x.N), err
	}
	field = strings.TrimSuffix(strings.ToLower(field), "s")
	x2, err := micros(x)
	if err != nil {
		return nil, err
	}
	a := lanes[int64](x2.Data)
	if field == "epoch" {
		return each1(t, x2, a, func(dst []float64, a []int64) {
			for i, v := range a {
				dst[i] = float64(v) / 1e6
			}
		}), nil
	}
	f := part(field, x.Unit == Interval)
	return each1(t, x2, a, func(dst, a []int64) {
		for i, v := range a {
			dst[i] = f(v)
		}
	}), nil
}

// part computes a field of microseconds.
func part(field string, interval bool) func(v int64) int64 {
	switch field {
	case "hour":
		if interval {
			return func(v int64) int64 { return v % day / 3600000000 }
		}
		return func(v int64) int64 { return (v - floorDiv(v, day)*day) / 3600000000 }
	case "minute", "second", "millisecond", "microsecond":
		by := map[string]int64{"minute": 60000000, "second": 1000000, "millisecond": 1000, "microsecond": 1}[field]
		around := int64(60000000)
		if field == "minute" {
			around *= 60
		}
		if interval {
			return func(v int64) int64 { return v % around / by }
		}
		return func(v int64) int64 { return (v - floorDiv(v, around)*around) / by }
	case "day":
		if interval {
			return func(v int64) int64 { return v / day }
		}
	}
	if interval {
		return func(int64) int64 { return 0 }
	}
	return func(v int64) int64 {
		t := civil(v)
		switch field {
		case "year":
			return int64(t.Year())
		case "month":
			return int64(t.Month())
		case "quarter":
			return int64(t.Month()+2) / 3
		case "dow":
			return int64(t.Weekday())
		case "isodow":
			return (int64(t.Weekday())+6)%7 + 1
		case "doy":
			return int64(t.YearDay())
		case "week":
			_, w := t.ISOWeek()
			return int64(w)
		}
		return int64(t.Day())
	}
}

// sameTime brings dates, timestamps and texts of such to one unit.
func sameTime(x, y *Column) (*Column, *Column, error) {
	var err error
	if x.Text() {
		x, err = Cast(x, OfUnit(y.Unit))
	} else if y.Text() {
		y, err = Cast(y, OfUnit(x.Unit))
	}
	if err == nil && x.Unit != y.Unit {
		if x, err = micros(x); err == nil {
			y, err = micros(y)
		}
	}
	return x, y, err
}
